import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply } from '../support/terraform/deployed-state.ts';
import { findLaterProblem, laterSchema } from '../support/terraform/later-provider.ts';
import { readProviderLock } from '../support/terraform/provider-lock.ts';
import { readGoogleSchema } from '../support/terraform/provider-schema.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const ROOT = fileURLToPath(new URL('../../terraform/', import.meta.url));
const { version } = readGoogleSchema();
const [major = 0, minor = 0] = version.split('.').map(Number);

/** The newest major version; how it differs from that of the schema is in later-provider.ts. */
const MAJOR_MAX = 8;

const paths = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tf'));
const versionFiles = paths.filter((path) => path.endsWith('versions.tf'));

describe('the version of the Google provider', () => {
  it('is recorded in the schema file', () => {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('allows every configuration the versions from that of the schema to the newest major one', () => {
    expect(versionFiles.length).toBeGreaterThan(10);
    const ranges = versionFiles.map(
      (path) => /version = "([^"]*)"\n {4}\}/.exec(readFileSync(ROOT + path, 'utf8'))?.[1],
    );
    expect(new Set(ranges)).toEqual(new Set([`>= ${major}.${minor}, < ${MAJOR_MAX + 1}`]));
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
      constraints: `>= ${major}.${minor}.0, < ${MAJOR_MAX + 1}.0.0`,
    });
  });

  it('is locked with the checksums of all platforms', () => {
    const archives = readProviderLock().hashes.filter((hash) => /^zh:[0-9a-f]{64}$/.test(hash));
    // Eleven platforms and the provider's manifest.
    expect(new Set(archives).size).toBe(12);
  });
});

let terraform: TerraformCopy;

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform(laterSchema(readGoogleSchema()), { findProblem: findLaterProblem });
  });
  afterAll(() => terraform.close());
  describe('a provider with the changes of 7 and 8', describeLaterProvider);
} else {
  leaveOut('terraform', 'later providers');
}

function describeLaterProvider() {
  it('has every argument and block of terraform/, and no further one that is required', async () => {
    // It contains the root module, which the other examples consist of.
    await terraform.init('examples/perimeter');
    expect(await terraform.must('examples/perimeter', ['validate'])).toContain('The configuration is valid');
  });

  it('accepts the topic of the upload notification, which names its project', async () => {
    const messaging = [
      '-var=project_id=my-project',
      '-var=project_number=123456789012',
      '-var=prefix=dropforge',
      '-var=region=us-central1',
      '-var=upload_bucket=b',
      '-var=schedules={}',
    ];
    const resources = await apply(terraform, 'modules/messaging', messaging);
    const notification = resources.find(({ type }) => type === 'google_storage_notification');
    expect(notification?.values.topic).toBe('projects/my-project/topics/dropforge-uploads');
  });
}
