import { HTTPException } from 'hono/http-exception';
import * as z from 'zod';

/** Protobuf's JSON mapping accepts both base64 alphabets, with or without padding; gcloud writes the URL-safe one. */
export const base64DataSchema = z
  .string()
  .transform((text) => text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, ''))
  .refine((text) => /^[A-Za-z0-9+/]*$/.test(text) && text.length % 4 !== 1, 'is not base64');

/** Reads all bytes as text. Throws an HTTPException with status 413 if there are more than `bytesMax`. */
export async function readBoundedText(bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) {
      throw new HTTPException(413, {
        message: `The JSON in the request exceeds the limit of ${bytesMax} bytes. Shorten it.`,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
