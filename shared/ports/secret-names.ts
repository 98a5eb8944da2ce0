import type { SecretReference } from '#shared/domain/job-spec.ts';

/**
 * Whether VMs can read a version of a secret, as far as its metadata says. `reason` completes a sentence about the
 * secret (MISSING) or about why it was not checked (UNKNOWN).
 */
export type SecretFound =
  | { readonly state: 'EXISTS' }
  | { readonly state: 'MISSING' | 'UNKNOWN'; readonly reason: string; readonly remedy: string };

/** The names of secrets, without their values. */
export type SecretNames = {
  /** UNKNOWN if the metadata may not be read, or was not returned in time; never throws. */
  find(reference: SecretReference): Promise<SecretFound>;
};
