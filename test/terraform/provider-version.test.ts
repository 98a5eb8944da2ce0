import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readProviderLock } from '../support/terraform/provider-lock.ts';
import { readGoogleSchema } from '../support/terraform/provider-schema.ts';

const ROOT = fileURLToPath(new URL('../../terraform/', import.meta.url));
const { version } = readGoogleSchema();
const [major = 0, minor = 0] = version.split('.').map(Number);

const paths = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tf'));
const versionFiles = paths.filter((path) => path.endsWith('versions.tf'));

describe('the version of the Google provider', () => {
  it('is recorded in the schema file', () => {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('limits every configuration to the major version of the schema', () => {
    expect(versionFiles.length).toBeGreaterThan(10);
    const ranges = versionFiles.map(
      (path) => /version = "([^"]*)"\n {4}\}/.exec(readFileSync(ROOT + path, 'utf8'))?.[1],
    );
    expect(new Set(ranges)).toEqual(new Set([`>= ${major}.${minor}, < ${major + 1}`]));
  });

  it('is declared in every directory with a configuration, and only in its versions.tf', () => {
    const directories = new Set(paths.map((path) => path.replace(/[^/]*$/, '')));
    expect(versionFiles.map((path) => path.replace(/[^/]*$/, '')).sort()).toEqual([...directories].sort());
    const others = paths.filter((path) => !versionFiles.includes(path));
    expect(others.filter((path) => readFileSync(ROOT + path, 'utf8').includes('required_providers'))).toEqual([]);
  });

  it('is locked for terraform/, with the constraint of versions.tf', () => {
    expect(readProviderLock()).toMatchObject({
      version,
      constraints: `>= ${major}.${minor}.0, < ${major + 1}.0.0`,
    });
  });

  it('is locked with the checksums of all platforms', () => {
    const archives = readProviderLock().hashes.filter((hash) => /^zh:[0-9a-f]{64}$/.test(hash));
    // Eleven platforms and the provider's manifest.
    expect(new Set(archives).size).toBe(12);
  });
});
