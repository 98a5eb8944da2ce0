import * as z from 'zod';

/** A host as names of images have it, without Docker Hub's other names. */
const HOST_PATTERN = /^([a-z0-9-]+(\.[a-z0-9-]+)+|localhost)(:\d{1,5})?$/;

/** Google's and the embedded Secret Manager's names of secrets. */
const SECRET_PATTERN = /^[A-Za-z0-9_-]{1,255}$/;

const hostSchema = z.string().max(255).regex(HOST_PATTERN);

/**
 * Logins to registries of container images, by host: `ghcr.io`, `docker.io`. The value of the secret is
 * `user:password`. `tokenHost`: of the registry's token service, if it is neither the registry's nor a known one.
 */
export const registriesSchema = z.record(
  hostSchema,
  z.strictObject({ secret: z.string().regex(SECRET_PATTERN), tokenHost: hostSchema.optional() }),
);

export type Registries = z.infer<typeof registriesSchema>;
