import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessDeniedError, PerimeterDeniedError } from '#shared/ports/object-store.ts';
import { findPackages } from '#shared/use-cases/intake/checks/find-packages.ts';
import { rejection } from '../support/google-cloud/storage-faults.ts';
import { openStorageUnderTest, type StorageUnderTest } from '../support/google-cloud/storage-under-test.ts';

const PAGE_OBJECTS_MAX = 3;

/** Limits the page size, since Cloud Storage may return fewer objects than requested. */
function withShortPage(request: Request): Request {
  const url = new URL(request.url);
  const requested = Number(url.searchParams.get('maxResults') ?? PAGE_OBJECTS_MAX);
  url.searchParams.set('maxResults', String(Math.min(requested, PAGE_OBJECTS_MAX)));
  return new Request(url, request);
}

describe('the object store of Cloud Storage, with responses that the embedded server does not give', () => {
  let cloud: StorageUnderTest;

  beforeEach(async () => {
    cloud = await openStorageUnderTest((request, pass) => {
      const { pathname } = new URL(request.url);
      if (pathname.includes('/b/theirs')) {
        return rejection(
          403,
          'forbidden',
          'intake@p.iam.gserviceaccount.com does not have storage.objects.get access.',
        );
      }
      if (pathname.includes('/b/inside')) {
        return rejection(
          403,
          'vpcServiceControls',
          "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: HICD57WF_a1-x",
        );
      }
      if (pathname.includes('/b/lists-only/o/')) {
        return rejection(
          403,
          'forbidden',
          'intake@p.iam.gserviceaccount.com does not have storage.objects.get access.',
        );
      }
      if (pathname.includes('/b/goog-no-name')) {
        return rejection(400, 'invalid', "Invalid bucket name: 'goog-no-name'");
      }
      if (pathname.endsWith('/b/pair')) {
        const customPlacementConfig = { dataLocations: ['US-CENTRAL1', 'US-WEST1'] };
        return Response.json({ name: 'pair', location: 'US', locationType: 'dual-region', customPlacementConfig });
      }
      if (pathname.endsWith('/b/requester-pays')) {
        return rejection(400, 'required', 'Bucket is a requester pays bucket but no user project provided.');
      }
      return pathname.endsWith('/o') ? pass(withShortPage(request)) : undefined;
    });
    for (const bucket of ['uploads', 'ours', 'lists-only']) {
      cloud.embedded.createBucket(bucket);
    }
  });
  afterEach(() => cloud.close());

  const write = (bucket: string, name: string) => cloud.embedded.write({ bucket, name }, Buffer.from(name));

  it('lists across short pages until it has enough objects, or all', async () => {
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

  it.each(['theirs', 'goog-no-name', 'nowhere'])('reports that the bucket %s does not exist', async (bucket) => {
    expect(await cloud.store.hasBucket(bucket)).toBe(false);
  });

  it('names the denial of a service perimeter with its unique id, whatever it reads', async () => {
    const requests = [
      () => cloud.store.stat({ bucket: 'inside', name: 'p.tar.gz' }),
      () => cloud.store.list({ bucket: 'inside', prefix: 'p/', countMax: 1 }),
      () => cloud.store.hasBucket('inside'),
    ];
    for (const request of requests) {
      const error = await request().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PerimeterDeniedError);
      expect(String(error)).toMatch(/VPC Service Controls denied .+, with the unique id HICD57WF_a1-x\./);
    }
  });

  it('locates a bucket in one region or in two', async () => {
    expect(await cloud.store.locateBucket('pair')).toEqual({ location: 'us', regions: ['us-central1', 'us-west1'] });
    await expect(cloud.store.locateBucket('requester-pays')).rejects.toThrow(/requester pays/);
    expect(await cloud.store.locateBucket('ours')).toEqual({ location: 'us', regions: [] });
  });

  it('throws if it has no permission to read', async () => {
    await expect(cloud.store.stat({ bucket: 'theirs', name: 'p.tar.gz' })).rejects.toThrow(AccessDeniedError);
    const listing = cloud.store.list({ bucket: 'theirs', prefix: 'p/', countMax: 1 });
    await expect(listing).rejects.toThrow(AccessDeniedError);
    await expect(cloud.store.locateBucket('theirs')).rejects.toThrow(AccessDeniedError);
  });

  it('finds no object in a bucket with an invalid name', async () => {
    expect(await cloud.store.stat({ bucket: 'goog-no-name', name: 'p.tar.gz' })).toBeUndefined();
  });

  it.each([
    ['of another project', 'theirs'],
    ['that may only be listed', 'lists-only'],
    ['that does not exist', 'nowhere'],
    ['with an invalid name', 'goog-no-name'],
  ])('reports packages in a bucket %s once, with the accounts that need a role', async (_, bucket) => {
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

  it('waits for packages that are missing in buckets that it can read', async () => {
    await write('ours', 'there.tar.gz');
    const missing = ['gs://ours/p.tar.gz', 'gs://uploads/job/q.tar.gz'];
    const outcome = await findPackagesIn([...missing, 'gs://ours/there.tar.gz']);

    expect(outcome).toMatchObject({
      found: [{ uri: 'gs://ours/there.tar.gz', info: { sizeBytes: 12 } }],
      missingUris: missing,
      problems: [],
    });
  });

  it('sends one request per existing package, and no others', async () => {
    await write('uploads', 'p.tar.gz');
    await write('ours', 'q.tar.gz');
    await findPackagesIn(['gs://uploads/p.tar.gz', 'gs://ours/q.tar.gz']);

    expect(cloud.requests.map((request) => request.replace(/.*\/b\//, '')).sort()).toEqual([
      'ours/o/q.tar.gz',
      'uploads/o/p.tar.gz',
    ]);
  });

  it('throws if it may not read the upload bucket, which is an error of the deployment', async () => {
    const ports = { objects: cloud.store, intake: { uploadBucket: 'theirs' } };
    await expect(findPackages(ports, ['gs://theirs/p.tar.gz'])).rejects.toThrow(
      /roles\/storage.objectViewer on theirs/,
    );
  });

  function findPackagesIn(uris: readonly string[]) {
    return findPackages({ objects: cloud.store, intake: { uploadBucket: 'uploads' } }, uris);
  }
});
