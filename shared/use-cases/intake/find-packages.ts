import { AccessDeniedError, type ObjectInfo, type ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

export type PackagePorts = { readonly objects: ObjectStore; readonly intake: Pick<IntakeSettings, 'uploadBucket'> };

export type FoundPackages = {
  /** In the order in which they are named. */
  readonly found: readonly { readonly uri: string; readonly info: ObjectInfo }[];
  /** Named and not there, in buckets that we see: they may still be on their way. */
  readonly missingUris: readonly string[];
  /** One for each bucket that does not exist or that we may not read: nothing will ever come from there. */
  readonly problems: readonly Problem[];
};

type Look = { readonly uri: string; readonly bucket: string; readonly info: ObjectInfo | 'DENIED' | undefined };

/**
 * Where the packages of a job are. A bucket that may not be read is the user's to mend, except the upload bucket: there
 * it is the deployment's, and thrown. Costs one request a package, and one more a bucket where one is missing.
 */
export async function findPackages(ports: PackagePorts, uris: readonly string[]): Promise<FoundPackages> {
  const looks = await Promise.all(uris.map((uri) => look(ports, uri)));
  const unseen = await listUnseenBuckets(ports, looks);
  return {
    found: looks.flatMap(({ uri, info }) => (info === undefined || info === 'DENIED' ? [] : [{ uri, info }])),
    missingUris: looks.filter(({ info, bucket }) => info === undefined && !unseen.has(bucket)).map(({ uri }) => uri),
    problems: [...unseen].map((bucket) => refuseBucket(bucket, looks)),
  };
}

async function look({ objects, intake }: PackagePorts, uri: string): Promise<Look> {
  const object = parseGsUri(uri);
  const { bucket } = object;
  try {
    return { uri, bucket, info: await objects.stat(object) };
  } catch (error) {
    if (error instanceof AccessDeniedError && bucket !== intake.uploadBucket) {
      return { uri, bucket, info: 'DENIED' };
    }
    throw error;
  }
}

/** A bucket that gave us an answer about one package is not asked for; in one that does not exist, all are missing. */
async function listUnseenBuckets(
  { objects, intake }: PackagePorts,
  looks: readonly Look[],
): Promise<ReadonlySet<string>> {
  const bucketsOf = (info: Look['info']) => new Set(looks.flatMap((one) => (one.info === info ? [one.bucket] : [])));
  const denied = bucketsOf('DENIED');
  const asked = [...bucketsOf(undefined).difference(denied)].filter((bucket) => bucket !== intake.uploadBucket);
  const answers = await Promise.all(asked.map(async (bucket) => ((await objects.hasBucket(bucket)) ? [] : [bucket])));
  return denied.union(new Set(answers.flat()));
}

function refuseBucket(bucket: string, looks: readonly Look[]): Problem {
  const uris = looks.filter((one) => one.bucket === bucket).map(({ uri }) => uri);
  return {
    code: 'PACKAGE_BUCKET_UNSEEN',
    message: `${uris.join(', ')}: the bucket ${bucket} does not exist, or may not be read by this deployment.`,
    remedy: `Upload the package to the upload bucket, beside its job file; or grant roles/storage.objectViewer on ${bucket} to the accounts on-upload, on-submit and vm (terraform output service_accounts).`,
    path: 'trainingInput.packageUris',
  };
}
