import { z } from 'zod';

/** Protobuf's JSON takes either alphabet, with padding or without; gcloud writes the one for URLs. */
export const base64DataSchema = z
  .string()
  .transform((text) => text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, ''))
  .refine((text) => /^[A-Za-z0-9+/]*$/.test(text) && text.length % 4 !== 1, 'is not base64');
