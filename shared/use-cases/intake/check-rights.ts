import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { JobRights } from '#shared/protocol/job-rights.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { locationOfResource, shortNameOf } from '#shared/protocol/resource-names.ts';
import { nearestName } from '#shared/text/nearest-name.ts';
import type { IntakeSettings, RuntimeFound } from '#shared/use-cases/intake/intake-settings.ts';

type Intake = Pick<IntakeSettings, 'rights' | 'describeMissingRight' | 'jobsBucket' | 'diskKmsKey'>;

/** The parts of a job's network as VMs need them. */
export type ResolvedNetwork = Pick<JobSpec, 'network' | 'subnetwork' | 'networkAttachment'>;

/**
 * Whether the deployment lets the job have the service account, network and encryption key that it names. What it does
 * not list is refused, with the line of its configuration that is missing. Resolves a network to its subnetwork in the
 * region of the job.
 */
export function checkRights(
  draft: JobDraft,
  {
    spec,
    runtime,
    intake,
  }: { readonly spec: JobSpec; readonly runtime: RuntimeFound | undefined; readonly intake: Intake },
): { readonly problems: readonly Problem[]; readonly network: ResolvedNetwork } {
  const network = checkNetwork(draft, spec, intake);
  return {
    problems: [
      ...checkAccount(draft, spec, intake),
      ...checkSecretsOf(draft, spec, intake),
      ...checkBucket(draft, spec, intake),
      ...network.problems,
      ...checkKey(draft, spec, intake),
      ...checkKeyOfDisk(draft, spec, runtime),
    ],
    network: network.network,
  };
}

/** The bucket in which the outputs of jobs with this account are by default. */
export function jobsBucketOf(
  { rights, jobsBucket }: Pick<Intake, 'rights' | 'jobsBucket'>,
  account: string | undefined,
): string {
  return findAccount(rights, account)?.bucket ?? jobsBucket;
}

function findAccount({ accounts }: JobRights, account: string | null | undefined) {
  return account && Object.hasOwn(accounts, account) ? accounts[account] : undefined;
}

function checkAccount(draft: JobDraft, { serviceAccount }: JobSpec, intake: Intake): readonly Problem[] {
  const listed = Object.keys(intake.rights.accounts);
  if (serviceAccount === null || listed.includes(serviceAccount)) {
    return [];
  }
  const line = intake.describeMissingRight('accounts', { name: serviceAccount, listed });
  return [
    {
      code: 'SERVICE_ACCOUNT_NOT_LISTED',
      message: `The job runs as ${serviceAccount}, which is not one of the service accounts that jobs of this deployment may have (${listingOf(listed)}).`,
      remedy: `${suggest(serviceAccount, listed)}${line}, or remove it for the deployment's own account.`,
      ...locate(draft.serviceAccount),
    },
  ];
}

/** Secrets of the deployment are granted to each account separately; those of other projects, where they are. */
function checkSecretsOf(draft: JobDraft, { serviceAccount, secrets }: JobSpec, { rights }: Intake): readonly Problem[] {
  const account = findAccount(rights, serviceAccount);
  const granted = account?.secrets ?? null;
  if (granted === null || serviceAccount === null) {
    return [];
  }
  return Object.entries(secrets)
    .filter(([_, { project, secret }]) => project === null && !granted.includes(secret))
    .map(([variable, { secret }]) => ({
      code: 'SECRET_NOT_GRANTED',
      message: `The job runs as ${serviceAccount}, which may not read the secret ${secret} of this deployment.`,
      remedy: `Grant it: job_account_secrets = { ${JSON.stringify(serviceAccount)} = [${JSON.stringify(secret)}] } and run terraform apply.`,
      ...locate(draft.secrets.find(({ value }) => value.key === variable)),
    }));
}

/** Each account writes to its own bucket; a job directory in that of another one would fail after the VM has started. */
function checkBucket(draft: JobDraft, { serviceAccount, jobDir }: JobSpec, intake: Intake): readonly Problem[] {
  const { bucket } = parseGsUri(jobDir);
  const own = jobsBucketOf(intake, serviceAccount ?? undefined);
  const others = [intake.jobsBucket, ...Object.values(intake.rights.accounts).map((account) => account.bucket)];
  const isKnown = serviceAccount === null || findAccount(intake.rights, serviceAccount) !== undefined;
  if (!isKnown || bucket === own || !others.includes(bucket)) {
    return [];
  }
  const account = serviceAccount ?? "the deployment's own account";
  return [
    {
      code: 'JOB_DIR_OF_OTHER_ACCOUNT',
      message: `The job runs as ${account}, which has no access to the bucket ${bucket} of the job directory.`,
      remedy: `Leave the job directory out, or use one in gs://${own}.`,
      ...locate(draft.jobDir),
    },
  ];
}

function checkNetwork(
  draft: JobDraft,
  spec: JobSpec,
  intake: Intake,
): { readonly problems: readonly Problem[]; readonly network: ResolvedNetwork } {
  const attachment = checkAttachment(draft, spec, intake);
  const subnetwork = checkSubnetwork(draft, spec, intake);
  return {
    problems: [...subnetwork.problems, ...attachment.problems],
    network: { ...subnetwork.found, networkAttachment: attachment.found },
  };
}

type Found<T> = { readonly found: T; readonly problems: readonly Problem[] };

/** The network's subnetwork in the region of the job, in which all its zones are. */
function checkSubnetwork(
  draft: JobDraft,
  { region, network, subnetwork }: JobSpec,
  { rights, describeMissingRight }: Intake,
): Found<Pick<JobSpec, 'network' | 'subnetwork'>> {
  const networks = Object.entries(rights.networks);
  const found = networks.find(
    ([name, { subnetworks }]) =>
      (network === null || name === network) && (subnetwork === null || subnetworks[region] === subnetwork),
  );
  const resolved = found?.[1].subnetworks[region] ?? null;
  if (network === null && subnetwork === null) {
    return { found: { network, subnetwork }, problems: [] };
  }
  if (found !== undefined && resolved !== null) {
    return { found: { network: found[0], subnetwork: resolved }, problems: [] };
  }
  const listed = networks.map(([name]) => name);
  const name = network ?? `projects/${subnetwork?.split('/')[1]}/global/networks/NETWORK`;
  const line = describeMissingRight('networks', { name, listed, region });
  const isListed = network !== null && listed.includes(network);
  const regions = isListed ? Object.keys(rights.networks[network]?.subnetworks ?? {}) : [];
  const problem = isListed
    ? {
        code: 'NETWORK_NOT_IN_REGION',
        message:
          subnetwork !== null && regions.includes(region)
            ? `The job uses the subnetwork ${subnetwork}, but jobs in ${network} use ${rights.networks[network]?.subnetworks[region]} in ${region}.`
            : `The job runs in ${region}, where the network ${network} has no subnetwork for jobs (only in ${listingOf(regions)}).`,
        remedy: `Choose one of its regions, or ${lowerFirst(line)}.`,
      }
    : {
        code: 'NETWORK_NOT_LISTED',
        message: `${network ?? subnetwork} is not one of the networks that jobs of this deployment may use (${listingOf(listed)}).`,
        remedy: `${suggest(network ?? subnetwork ?? '', network === null ? subnetworksIn(rights, region) : listed)}${line}, or remove it for the deployment's own network.`,
      };
  return { found: { network, subnetwork }, problems: [{ ...problem, ...locate(draft.network ?? draft.subnetwork) }] };
}

function subnetworksIn({ networks }: JobRights, region: string): readonly string[] {
  return Object.values(networks).flatMap(({ subnetworks }) => subnetworks[region] ?? []);
}

/** The full name of the network attachment, which must be in the region of the job (VPC docs, "Network attachments"). */
function checkAttachment(
  draft: JobDraft,
  { region, networkAttachment }: JobSpec,
  { rights, describeMissingRight }: Intake,
): Found<string | null> {
  const listed = Object.values(rights.networks).flatMap((network) => network.networkAttachments);
  const found = listed.find(
    (name) =>
      name === networkAttachment || (shortNameOf(name) === networkAttachment && locationOfResource(name) === region),
  );
  if (networkAttachment === null) {
    return { found: null, problems: [] };
  }
  if (found === undefined) {
    const name = networkAttachment.includes('/')
      ? networkAttachment
      : `projects/PROJECT/regions/${region}/networkAttachments/${networkAttachment}`;
    const line = describeMissingRight('networks', {
      name: `projects/${name.split('/')[1]}/global/networks/NETWORK`,
      listed: Object.keys(rights.networks),
      networkAttachment: name,
    });
    const problem = {
      code: 'NETWORK_ATTACHMENT_NOT_LISTED',
      message: `${networkAttachment} is not one of the network attachments that jobs of this deployment may use in ${region} (${listingOf(listed)}).`,
      remedy: `${suggest(networkAttachment, listed)}${line}, or remove it.`,
    };
    return { found: networkAttachment, problems: [{ ...problem, ...locate(draft.networkAttachment) }] };
  }
  const location = locationOfResource(found);
  if (location === region) {
    return { found, problems: [] };
  }
  const problem = {
    code: 'NETWORK_ATTACHMENT_NOT_IN_REGION',
    message: `The job runs in ${region}, and the network attachment ${found} is in ${location}.`,
    remedy: `Choose the region ${location}, or a network attachment in ${region}.`,
  };
  return { found, problems: [{ ...problem, ...locate(draft.networkAttachment) }] };
}

function checkKey(draft: JobDraft, { kmsKeyName, region }: JobSpec, intake: Intake): readonly Problem[] {
  const listed = intake.rights.keys;
  if (kmsKeyName === null) {
    return checkDeploymentKey(region, intake);
  }
  if (!listed.includes(kmsKeyName)) {
    const line = intake.describeMissingRight('keys', { name: kmsKeyName, listed });
    return [
      {
        code: 'KMS_KEY_NOT_LISTED',
        message: `${kmsKeyName} is not one of the encryption keys that jobs of this deployment may use (${listingOf(listed)}).`,
        remedy: `${suggest(kmsKeyName, listed)}${line}, or remove it.`,
        ...locate(draft.kmsKeyName),
      },
    ];
  }
  const location = locationOfResource(kmsKeyName) ?? '';
  return canEncryptIn(location, region)
    ? []
    : [
        {
          code: 'KMS_KEY_NOT_IN_REGION',
          message: `The job runs in ${region}, and the key ${kmsKeyName} is in ${location}, which cannot encrypt disks there.`,
          remedy: `Use a key in ${region}, or choose a region of ${location}.`,
          ...locate(draft.kmsKeyName),
        },
      ];
}

/** The deployment's key is that of its buckets, in one region; jobs may run in others that have a subnetwork. */
function checkDeploymentKey(region: string, { rights, describeMissingRight, diskKmsKey }: Intake): readonly Problem[] {
  const location = locationOfResource(diskKmsKey ?? '') ?? '';
  if (diskKmsKey === undefined || canEncryptIn(location, region)) {
    return [];
  }
  const name = `projects/${diskKmsKey.split('/')[1]}/locations/${region}/keyRings/RING/cryptoKeys/KEY`;
  const line = describeMissingRight('keys', { name, listed: rights.keys });
  return [
    {
      code: 'KMS_KEY_NOT_IN_REGION',
      message: `The job runs in ${region}, and the key of this deployment, ${diskKmsKey}, is in ${location}, which cannot encrypt disks there.`,
      remedy: `Choose a region of ${location}, or a key in ${region} for the job. ${line}.`,
    },
  ];
}

/** Disks from machine images keep their key (boot-source.ts), so the runtime must have an image. */
function checkKeyOfDisk(
  draft: JobDraft,
  { kmsKeyName, runtimeVersion }: JobSpec,
  runtime: RuntimeFound | undefined,
): readonly Problem[] {
  return kmsKeyName === null || runtime === undefined || runtime.bootDiskGib === null
    ? []
    : [
        {
          code: 'KMS_KEY_OF_MACHINE_IMAGE',
          message: `The job has an encryption key for its disks, but runtime ${runtimeVersion} boots from machine images only, whose disks cannot be given a key.`,
          remedy: `Choose a runtime with an image, or have one added to it: runtime_images = { ${JSON.stringify(runtimeVersion)} = { image = "…" } }.`,
          ...locate(draft.kmsKeyName),
        },
      ];
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

/** Names differ most in their last part, or in an address before the `@`. */
function suggest(name: string, listed: readonly string[]): string {
  const keyOf = (text: string) => shortNameOf(text.split('@')[0] ?? text);
  const nearest = nearestName(keyOf(name), listed.map(keyOf));
  const found = listed.find((one) => nearest !== undefined && keyOf(one) === nearest);
  return found === undefined ? '' : `Did you mean "${found}"? `;
}

/** In messages, at most. */
const LISTED_COUNT_MAX = 5;

function listingOf(names: readonly string[]): string {
  const more = names.length - LISTED_COUNT_MAX;
  const shown = names.slice(0, LISTED_COUNT_MAX).join(', ');
  return names.length === 0 ? 'none' : more > 0 ? `${shown} and ${more} more` : shown;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function locate(located: Located<unknown> | undefined) {
  return located === undefined ? {} : locationOf(located);
}
