import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessDeniedError } from '#shared/ports/object-store.ts';
import { findPackages } from '#shared/use-cases/intake/check-packages.ts';
import { openStorageUnderTest, refuse, type StorageUnderTest } from '../support/google-cloud/storage-under-test.ts';

const PAGE_OBJECTS_MAX = 3;

/** A page of no more than so many, whatever was asked for, as from a service that has its own reasons. */
function withShortPage(request: Request): Request {
  const url = new URL(request.url);
  const asked = Number(url.searchParams.get('maxResults') ?? PAGE_OBJECTS_MAX);
  url.searchParams.set('maxResults', String(Math.min(asked, PAGE_OBJECTS_MAX)));
  return new Request(url, request);
}

describe('the object store of Cloud Storage, where the service answers as ours does not', () => {
  let cloud: StorageUnderTest;

  beforeEach(async () => {
    cloud = await openStorageUnderTest((request, pass) => {
      const { pathname } = new URL(request.url);
      if (pathname.includes('/b/theirs')) {
        return refuse(403, 'forbidden', 'intake@p.iam.gserviceaccount.com does not have storage.objects.get access.');
      }
      if (pathname.includes('/b/lists-only/o/')) {
        return refuse(403, 'forbidden', 'intake@p.iam.gserviceaccount.com does not have storage.objects.get access.');
      }
      if (pathname.includes('/b/goog-no-name')) {
        return refuse(400, 'invalid', "Invalid bucket name: 'goog-no-name'");
      }
      return pathname.endsWith('/o') ? pass(withShortPage(request)) : undefined;
    });
    for (const bucket of ['uploads', 'ours', 'lists-only']) {
      cloud.embedded.createBucket(bucket);
    }
  });
  afterEach(() => cloud.close());

  const write = (bucket: string, name: string) => cloud.embedded.write({ bucket, name }, Buffer.from(name));

  it('lists on over short pages until there is enough, or no more', async () => {
    const names = Array.from({ length: 11 }, (_, index) => `p/${String(index).padStart(2, '0')}`);
    for (const name of names) {
      await write('uploads', name);
    }
    const list = async (countMax: number, after?: string) => {
      const found = await cloud.store.list({ bucket: 'uploads', prefix: 'p/', countMax, ...(after && { after }) });
      return found.map(({ name }) => name);
    };

    expect(await list(5)).toEqual(names.slice(0, 5));
    expect(await list(3, 'p/02')).toEqual(names.slice(3, 6));
    expect(await list(5, 'p/04')).toEqual(names.slice(5, 10));
    expect(await list(100)).toEqual(names);
    expect(await list(5, 'p/09')).toEqual(['p/10']);
  });

  it.each(['theirs', 'goog-no-name', 'nowhere'])('sees no bucket %s', async (bucket) => {
    expect(await cloud.store.hasBucket(bucket)).toBe(false);
  });

  it('throws where it may not read', async () => {
    await expect(cloud.store.stat({ bucket: 'theirs', name: 'p.tar.gz' })).rejects.toThrow(AccessDeniedError);
  });

  it('knows no object in a bucket that can have none', async () => {
    expect(await cloud.store.stat({ bucket: 'goog-no-name', name: 'p.tar.gz' })).toBeUndefined();
  });

  it.each([
    ['that is somebody else’s', 'theirs'],
    ['that may be listed and not read', 'lists-only'],
    ['that does not exist', 'nowhere'],
    ['whose name is none', 'goog-no-name'],
  ])('refuses packages in a bucket %s once, with the accounts that need a grant', async (_, bucket) => {
    const uris = [`gs://${bucket}/p.tar.gz`, `gs://${bucket}/q.tar.gz`];
    const { found, missingUris, problems } = await findPackagesIn(uris);

    expect({ found, missingUris }).toEqual({ found: [], missingUris: [] });
    expect(problems).toMatchObject([
      {
        code: 'PACKAGE_BUCKET_UNSEEN',
        message: expect.stringContaining(`${uris.join(', ')}: the bucket ${bucket} `),
        remedy: expect.stringMatching(/on-upload, on-submit and vm \(terraform output service_accounts\)/),
      },
    ]);
  });

  it('waits for packages that are missing in buckets it sees', async () => {
    await write('ours', 'there.tar.gz');
    const missing = ['gs://ours/p.tar.gz', 'gs://uploads/job/q.tar.gz'];
    const answer = await findPackagesIn([...missing, 'gs://ours/there.tar.gz']);

    expect(answer).toMatchObject({
      found: [{ uri: 'gs://ours/there.tar.gz', info: { sizeBytes: 12 } }],
      missingUris: missing,
      problems: [],
    });
  });

  it('asks once for each package that is there, and for nothing else', async () => {
    await write('uploads', 'p.tar.gz');
    await write('ours', 'q.tar.gz');
    await findPackagesIn(['gs://uploads/p.tar.gz', 'gs://ours/q.tar.gz']);

    expect(cloud.requests.map((request) => request.replace(/.*\/b\//, '')).sort()).toEqual([
      'ours/o/q.tar.gz',
      'uploads/o/p.tar.gz',
    ]);
  });

  it('takes it for a defect of the deployment when the upload bucket may not be read', async () => {
    const ports = { objects: cloud.store, intake: { uploadBucket: 'theirs' } };
    await expect(findPackages(ports, ['gs://theirs/p.tar.gz'])).rejects.toThrow(
      /roles\/storage.objectViewer on theirs/,
    );
  });

  function findPackagesIn(uris: readonly string[]) {
    return findPackages({ objects: cloud.store, intake: { uploadBucket: 'uploads' } }, uris);
  }
});
