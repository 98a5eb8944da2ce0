import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { locationOfResource } from '#shared/protocol/resource-names.ts';
import type { Check, CheckedJob } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { describeUnlisted } from '#shared/use-cases/intake/checks/listed-names.ts';

/** Whether the deployment lets the job use the encryption key that it names, and the key can encrypt its disks. */
export const checkKmsKey: Check = (job, { intake }) => ({
  problems: [...checkKey(job, intake), ...checkKeyOfDisk(job, intake)],
});

function checkKey({ draft, spec: { kmsKeyName, region } }: CheckedJob, intake: IntakeSettings): readonly Problem[] {
  const { keys: listed } = intake.rights;
  if (kmsKeyName === null) {
    return checkDeploymentKey(region, intake);
  }
  const field = draft.kmsKeyName;
  if (!listed.includes(kmsKeyName)) {
    const what = `${kmsKeyName} is not one of the encryption keys that jobs of this deployment may use`;
    const remedy = `${intake.describeMissingRight('keys', { name: kmsKeyName, listed })}, or remove it`;
    return [describeUnlisted({ code: 'KMS_KEY_NOT_LISTED', name: kmsKeyName, what, listed, remedy, field })];
  }
  const location = locationOfResource(kmsKeyName) ?? '';
  const message = `The job runs in ${region}, and the key ${kmsKeyName} is in ${location}, which cannot encrypt disks there.`;
  const remedy = `Use a key in ${region}, or choose a region of ${location}.`;
  const problem = { code: 'KMS_KEY_NOT_IN_REGION', message, remedy, ...(field && locationOf(field)) };
  return canEncryptIn(location, region) ? [] : [problem];
}

/** The deployment's key is that of its buckets, in one region; jobs may run in others that have a subnetwork. */
function checkDeploymentKey(region: string, { rights, describeMissingRight, diskKmsKey }: IntakeSettings) {
  const location = locationOfResource(diskKmsKey ?? '') ?? '';
  if (diskKmsKey === undefined || canEncryptIn(location, region)) {
    return [];
  }
  const name = `projects/${diskKmsKey.split('/')[1]}/locations/${region}/keyRings/RING/cryptoKeys/KEY`;
  const line = describeMissingRight('keys', { name, listed: rights.keys });
  const message = `The job runs in ${region}, and the key of this deployment, ${diskKmsKey}, is in ${location}, which cannot encrypt disks there.`;
  const remedy = `Choose a region of ${location}, or a key in ${region} for the job. ${line}.`;
  return [{ code: 'KMS_KEY_NOT_IN_REGION', message, remedy }];
}

/** Disks from machine images keep their key (boot-source.ts), so the runtime must have an image. */
function checkKeyOfDisk({ draft, spec: { kmsKeyName, runtimeVersion } }: CheckedJob, { runtimeOf }: IntakeSettings) {
  const bootDiskGib = runtimeOf(runtimeVersion)?.bootDiskGib ?? null;
  const message = `The job has an encryption key for its disks, but runtime ${runtimeVersion} boots from machine images only, whose disks cannot be given a key.`;
  const remedy = `Choose a runtime with an image, or have one added to it: runtime_images = { ${JSON.stringify(runtimeVersion)} = { image = "…" } }.`;
  const location = draft.kmsKeyName && locationOf(draft.kmsKeyName);
  const problem = { code: 'KMS_KEY_OF_MACHINE_IMAGE', message, remedy, ...location };
  return kmsKeyName === null || bootDiskGib === null ? [] : [problem];
}

/** The regions that a multi-region location of Cloud KMS has, by their prefix (docs, "Cloud KMS locations"). */
const REGIONS_OF_LOCATION: readonly (readonly [location: RegExp, regions: string])[] = [
  [/^(us|nam\d+)$/, 'us-'],
  [/^(europe|eur\d+)$/, 'europe-'],
  [/^(asia\d*|in|jp|kr)$/, 'asia-'],
  [/^ca$/, 'northamerica-'],
  [/^au$/, 'australia-'],
];

/** Whether a key there may encrypt disks in the region; Compute Engine decides for unknown locations. */
function canEncryptIn(location: string, region: string): boolean {
  if (/^[a-z]+-[a-z]+\d+$/.test(location)) {
    return location === region;
  }
  const regions = REGIONS_OF_LOCATION.find(([pattern]) => pattern.test(location))?.[1];
  return regions === undefined || region.startsWith(regions);
}
