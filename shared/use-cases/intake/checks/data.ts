import { transferPerGibUsd } from '#shared/catalog/data-transfer.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { BucketLocation, ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { didYouMean, nearestName } from '#shared/text/nearest-name.ts';
import { bucketsOfJobs, jobsBucketOf } from '#shared/use-cases/intake/checks/account.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import { type DataUse, dataUsesOf } from '#shared/use-cases/intake/checks/data-uses.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

/** Limits of the check of one job. */
const USES_COUNT_MAX = 20;
const CHECK_MS_MAX = 10_000;
const PAGE_OBJECTS = 1_000;
const PAGES_COUNT_MAX = 5;
const PARENTS_COUNT_MAX = 3;
const GIB = 1_024 ** 3;

/** Undefined: this account may not read it, which says nothing about that of the VMs, or the request failed. */
type Found = DataUse & {
  readonly place: BucketLocation | null | 'MISSING' | undefined;
  /** At most PAGE_OBJECTS. */
  readonly objects: readonly ObjectInfo[] | undefined;
  readonly nearest: string | undefined;
};

/**
 * Checks the data that a job names before its VMs are paid for. Only a bucket that does not exist is a problem, since a
 * program may create objects. What is not checked is a warning.
 */
export const checkData: Check = async ({ spec }, ports) => {
  const all = dataUsesOf(spec);
  const uses = all.slice(0, USES_COUNT_MAX);
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), CHECK_MS_MAX);
  const found = await Promise.race([Promise.all(findAll(ports.objects, uses)), late.promise]);
  clearTimeout(timer);
  const failed = found === null ? uses : found.filter(({ objects }) => objects === undefined);
  const uris = [...failed, ...all.slice(USES_COUNT_MAX)].map(({ uri }) => uri);
  const buckets = Object.entries(Object.groupBy(found ?? [], ({ bucket }) => bucket));
  const missing = buckets.filter(([_, [use] = [undefined]]) => use?.place === 'MISSING');
  const missingBuckets = missing.map(([bucket]) => missingBucket(bucket, ports.intake));
  // In the embedded cloud, programs also read Google's public buckets.
  const isEmbedded = ports.intake.dataBuckets === undefined;
  return {
    problems: isEmbedded ? [] : missingBuckets,
    warnings: [
      ...(isEmbedded ? missingBuckets : checkAccess(found ?? [], spec, ports.intake)),
      ...(found ?? []).flatMap(missingObjects),
      ...(uris.length === 0 ? [] : [notChecked(`${uris.join(', ')} could not be checked.`, 'Check that it exists.')]),
      ...buckets.flatMap(([_, ofBucket = []]) => checkTransfer(ofBucket, spec.region)),
    ],
  };
};

function findAll(objects: ObjectStore, uses: readonly DataUse[]): readonly Promise<Found>[] {
  const places = new Map<string, Promise<Found['place']>>();
  return uses.map(async (use) => {
    const { bucket, name: prefix } = use;
    places.set(bucket, places.get(bucket) ?? objects.locateBucket(bucket).catch(() => undefined));
    const place = await places.get(bucket);
    if (place === 'MISSING') {
      return { ...use, place, objects: [], nearest: undefined };
    }
    const listed = await objects.list({ bucket, prefix, countMax: PAGE_OBJECTS }).catch(() => undefined);
    const nearest = listed?.length === 0 ? await findNearest(objects, use).catch(() => undefined) : undefined;
    return { ...use, place, objects: listed, nearest };
  });
}

/** The nearest name in the deepest folder that exists. */
async function findNearest(objects: ObjectStore, { bucket, name, isWritten }: DataUse): Promise<string | undefined> {
  const parts = name.match(/[^/]+\/?/g) ?? [];
  for (const [depth, part] of isWritten ? [] : [...parts.entries()].slice(-PARENTS_COUNT_MAX).reverse()) {
    const folder = parts.slice(0, depth).join('');
    const children = await listChildren(objects, bucket, folder);
    if (children.size > 0) {
      const nearest = nearestName(part, children);
      return nearest && `gs://${bucket}/${folder}${nearest}`;
    }
  }
  return undefined;
}

/** Names in a folder; one page of each large folder in it is read. */
async function listChildren(objects: ObjectStore, bucket: string, prefix: string): Promise<ReadonlySet<string>> {
  const children = new Set<string>();
  let after: string | undefined;
  for (let page = 0; page < PAGES_COUNT_MAX; page += 1) {
    const found = await objects.list({ bucket, prefix, countMax: PAGE_OBJECTS, ...(after && { after }) });
    const names = found.map(({ name }) => /^[^/]*\/?/.exec(name.slice(prefix.length))?.[0] ?? '');
    for (const name of names) {
      children.add(name);
      after = `${prefix}${name}${name.endsWith('/') ? '\u{10ffff}' : ''}`;
    }
    if (found.length < PAGE_OBJECTS) {
      break;
    }
  }
  return children;
}

function missingBucket(bucket: string, { uploadBucket, jobsBucket, dataBuckets }: IntakeSettings): Problem {
  const where = dataBuckets === undefined ? 'is not in this embedded cloud' : 'does not exist';
  const also = dataBuckets === undefined ? ' Reads go on to Google, for a public bucket.' : '';
  const meant = didYouMean(bucket, [...(dataBuckets ?? []), uploadBucket, jobsBucket]);
  const message = `The bucket ${bucket}, which the job names, ${where}.`;
  return { code: 'DATA_BUCKET_MISSING', message, remedy: `${meant}Correct the name, or create the bucket.${also}` };
}

function missingObjects({ uri, objects, isWritten, nearest, place }: Found): readonly Problem[] {
  const message = `${uri} has no objects${nearest === undefined ? '.' : `; ${nearest} exists.`}`;
  const remedy = 'Correct it if the program reads it; nothing is wrong if the program writes it.';
  const isFine = isWritten || place === 'MISSING' || objects?.length !== 0;
  return isFine ? [] : [{ code: 'DATA_NOT_FOUND', message, remedy }];
}

function notChecked(message: string, remedy: string): Problem {
  return { code: 'DATA_NOT_CHECKED', message, remedy };
}

/** Intake knows the grants of Terraform only. */
function checkAccess(found: readonly Found[], { serviceAccount }: JobSpec, intake: IntakeSettings): readonly Problem[] {
  const { dataBuckets = [], uploadBucket } = intake;
  const granted = [...dataBuckets, uploadBucket, jobsBucketOf(intake, serviceAccount)];
  const named = found.flatMap(({ place, bucket }) => (place === 'MISSING' || granted.includes(bucket) ? [] : bucket));
  const owned = bucketsOfJobs(intake);
  const [others, unknown] = [true, false].map((is) => [
    ...new Set(named.filter((name) => owned.includes(name) === is)),
  ]);
  const account = serviceAccount ?? 'the account of the VMs';
  const entries = unknown?.map((bucket) => `${JSON.stringify(bucket)} = "read"`).join(', ');
  const remedy = `Grant it, or add to terraform.tfvars data_buckets = { …, ${entries} } and run terraform apply.`;
  return [
    ...(others ?? []).map((bucket) => ({
      code: 'DATA_OF_OTHER_ACCOUNT',
      message: `Terraform gives ${account} no access to ${bucket}, a bucket of jobs with another account.`,
      remedy: 'Copy the data to a bucket that this account may read, or run the job with the other account.',
    })),
    ...(entries ? [notChecked(`Whether ${account} may read ${unknown?.join(', ')} was not checked.`, remedy)] : []),
  ];
}

function checkTransfer(uses: readonly Found[], region: string): readonly Problem[] {
  const [{ bucket, place } = { bucket: '', place: null }] = uses;
  const perGibUsd = place && place !== 'MISSING' ? transferPerGibUsd(place, region) : 0;
  if (!place || place === 'MISSING' || perGibUsd === 0) {
    return [];
  }
  const sizes = uses.flatMap(({ uri, objects = [] }) => {
    const gib = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / GIB;
    const least = objects.length < PAGE_OBJECTS ? '' : 'at least ';
    const price = perGibUsd === null ? '' : `, ${least}${formatUsd(gib * perGibUsd)} each time`;
    return gib === 0 ? [] : [` ${uri} has ${least}${gib.toFixed(3)} GiB${price}.`];
  });
  const price = perGibUsd === null ? 'an amount that is not known here' : `about ${formatUsd(perGibUsd)} per GiB`;
  const message = `gs://${bucket} is in ${place.location} and the VMs run in ${region}: data between them costs ${price}.`;
  const remedy = `Run the job where the data is, or copy the data to a bucket in ${region}.`;
  return [{ code: 'DATA_IN_OTHER_REGION', message: `${message}${sizes.join('')}`, remedy }];
}
