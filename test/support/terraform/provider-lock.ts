import { readFileSync } from 'node:fs';

export type ProviderLock = {
  /** The version that `terraform init` installs. */
  readonly version: string;
  /** The constraints as Terraform normalizes them: `>= 6.50.0, < 9.0.0`. */
  readonly constraints: string;
  /** `zh:` (the archive of one platform) or `h1:` (its unpacked files), each with its checksum. */
  readonly hashes: readonly string[];
};

const LOCK_FILE = new URL('../../../terraform/.terraform.lock.hcl', import.meta.url);

/** Reads the entry of hashicorp/google from the dependency lock file of terraform/. Throws if there is none. */
export function readProviderLock(): ProviderLock {
  const text = readFileSync(LOCK_FILE, 'utf8');
  const [, entry] = /^provider "registry\.terraform\.io\/hashicorp\/google" \{\n([\s\S]*?)^\}/m.exec(text) ?? [];
  const [, version] = /^ +version += "(.*)"$/m.exec(entry ?? '') ?? [];
  const [, constraints] = /^ +constraints += "(.*)"$/m.exec(entry ?? '') ?? [];
  if (entry === undefined || version === undefined || constraints === undefined) {
    throw new Error('terraform/.terraform.lock.hcl has no complete entry for hashicorp/google.');
  }
  return { version, constraints, hashes: [...entry.matchAll(/"((?:zh|h1):[^"]+)"/g)].map(([, hash]) => hash ?? '') };
}
