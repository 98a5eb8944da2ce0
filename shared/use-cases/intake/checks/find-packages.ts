import {
  AccessDeniedError,
  type ObjectInfo,
  type ObjectStore,
  PerimeterDeniedError,
} from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

type Ports = { readonly objects: ObjectStore; readonly intake: Pick<IntakeSettings, 'uploadBucket'> };

type FoundPackages = {
  /** In the order of the program. */
  readonly found: readonly { readonly uri: string; readonly info: ObjectInfo }[];
  readonly missingUris: readonly string[];
  /** One for each bucket that does not exist or that this deployment may not read. */
  readonly problems: readonly Problem[];
};

type Lookup = { readonly uri: string; readonly bucket: string; readonly info: ObjectInfo | 'DENIED' | undefined };

/**
 * Looks up the packages of a job. A bucket that may not be read is the user's to fix; for the upload bucket it is a
 * defect of the deployment, and thrown. Costs one request per package, and one more per bucket in which a package is
 * missing.
 */
export async function findPackages(ports: Ports, uris: readonly string[]): Promise<FoundPackages> {
  const lookups = await Promise.all(uris.map((uri) => lookUp(ports, uri)));
  const unreadable = await listUnreadableBuckets(ports, lookups);
  return {
    found: lookups.flatMap(({ uri, info }) => (info === undefined || info === 'DENIED' ? [] : [{ uri, info }])),
    missingUris: lookups
      .filter(({ info, bucket }) => info === undefined && !unreadable.has(bucket))
      .map(({ uri }) => uri),
    problems: [...unreadable].map((bucket) => unreadableBucket(bucket, lookups)),
  };
}

async function lookUp({ objects, intake }: Ports, uri: string): Promise<Lookup> {
  const object = parseGsUri(uri);
  const { bucket } = object;
  try {
    return { uri, bucket, info: await objects.stat(object) };
  } catch (error) {
    const isDenied = error instanceof AccessDeniedError && !(error instanceof PerimeterDeniedError);
    if (isDenied && bucket !== intake.uploadBucket) {
      return { uri, bucket, info: 'DENIED' };
    }
    throw error;
  }
}

/** Queries only buckets in which every package is missing: they may not exist. */
async function listUnreadableBuckets(
  { objects, intake }: Ports,
  lookups: readonly Lookup[],
): Promise<ReadonlySet<string>> {
  const bucketsOf = (info: Lookup['info']) =>
    new Set(lookups.flatMap((lookup) => (lookup.info === info ? [lookup.bucket] : [])));
  const denied = bucketsOf('DENIED');
  const doubtful = [...bucketsOf(undefined).difference(denied)].filter((bucket) => bucket !== intake.uploadBucket);
  const answers = await Promise.all(
    doubtful.map(async (bucket) => ((await objects.hasBucket(bucket)) ? [] : [bucket])),
  );
  return denied.union(new Set(answers.flat()));
}

function unreadableBucket(bucket: string, lookups: readonly Lookup[]): Problem {
  const uris = lookups.filter((lookup) => lookup.bucket === bucket).map(({ uri }) => uri);
  return {
    code: 'PACKAGE_BUCKET_UNSEEN',
    message: `${uris.join(', ')}: the bucket ${bucket} does not exist, or this deployment may not read it.`,
    remedy: `Upload the package to the upload bucket, beside its job file; or grant roles/storage.objectViewer on ${bucket} to the accounts on-upload, on-submit and vm (terraform output service_accounts).`,
    path: 'trainingInput.packageUris',
  };
}
