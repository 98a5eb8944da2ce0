import type { JobText, SubmitCommand } from '#shared/domain/job-text.ts';
import { applyOverrides, type GroupOverrides, type TrainingOverrides } from '#shared/job-file/draft/apply-overrides.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { applyPoolFlags } from '#shared/job-file/flags/apply-pool-flags.ts';
import { type Flags, InvalidFlagError, readFlags } from '#shared/job-file/flags/flag-list.ts';
import {
  readAccelerator,
  readAlgorithm,
  readAllPairs,
  readCount,
  readMaxCost,
  readScaleTier,
  splitList,
} from '#shared/job-file/flags/flag-values.ts';

/** Flags of all commands that override the job file. */
const COMMON_FLAGS: readonly string[] = [
  ...['region', 'job-dir', 'labels', 'set-secrets', 'service-account', 'network', 'kms-key', 'enable-web-access'],
];

/** The flags of each command that override the job file, in the order in which they are written. */
export const OVERRIDE_FLAGS: Readonly<Record<SubmitCommand, readonly string[]>> = {
  'jobs submit training': [
    ...['module-name', 'packages', 'scale-tier', 'runtime-version', 'python-version'],
    ...['master-machine-type', 'master-accelerator', 'master-image-uri'],
    ...['worker', 'parameter-server'].flatMap((group) =>
      ['machine-type', 'count', 'accelerator', 'image-uri'].map((name) => `${group}-${name}`),
    ),
    'max-cost',
    ...COMMON_FLAGS,
  ],
  'custom-jobs create': [
    ...['display-name', 'worker-pool-spec', 'python-package-uris', 'args', 'command'],
    ...COMMON_FLAGS,
  ],
  'hp-tuning-jobs create': [
    ...['display-name', 'max-trial-count', 'parallel-trial-count', 'algorithm', 'max-cost'],
    ...COMMON_FLAGS,
  ],
};

/** gcloud's default of --max-trial-count and --parallel-trial-count. */
const TRIALS_DEFAULT = 1;

/** The draft of a job file, overridden by the flags of a command. Throws InvalidFlagError. */
export function applyFlags(draft: JobDraft, { command, flags: list }: Pick<JobText, 'command' | 'flags'>): JobDraft {
  const flags = readFlags(list, OVERRIDE_FLAGS[command]);
  const changed = applyOverrides(draft, readOverrides(flags));
  if (flags.isSet('max-cost') && draft.study === undefined) {
    throw new InvalidFlagError('--max-cost is for tuning jobs, and the job has no hyperparameters: remove the flag.');
  }
  const displayName = flags.flag('display-name');
  const named =
    displayName === undefined ? changed : { ...changed, displayName: { value: displayName, path: '--display-name' } };
  switch (command) {
    case 'jobs submit training':
      return named;
    case 'custom-jobs create':
      return applyPoolFlags(named, flags);
    case 'hp-tuning-jobs create':
      return withTrialCounts(named);
  }
}

function readOverrides(given: Flags): TrainingOverrides {
  const { flag, flags, isSet, rest } = given;
  if (isSet('master-image-uri') && isSet('runtime-version')) {
    throw new InvalidFlagError(
      '--master-image-uri and --runtime-version are mutually exclusive: the image contains the runtime.',
    );
  }
  return {
    labels: readAllPairs('labels', flags),
    secrets: readAllPairs('set-secrets', flags),
    scaleTier: readScaleTier(flag),
    masterType: flag('master-machine-type'),
    masterAccelerator: readAccelerator('master-accelerator', flag),
    masterImageUri: flag('master-image-uri'),
    worker: readGroup('worker', flag),
    parameterServer: readGroup('parameter-server', flag),
    packageUris: isSet('packages') ? splitList(flag('packages') ?? '') : undefined,
    pythonModule: flag('module-name'),
    args: rest.length === 0 ? undefined : rest,
    region: flag('region'),
    jobDir: flag('job-dir'),
    runtimeVersion: flag('runtime-version'),
    pythonVersion: flag('python-version'),
    serviceAccount: flag('service-account'),
    network: flag('network'),
    kmsKeyName: flag('kms-key'),
    webAccess: isSet('enable-web-access') || undefined,
    maxTrials: readCount('max-trial-count', flag),
    parallelTrials: readCount('parallel-trial-count', flag),
    algorithm: readAlgorithm(flag('algorithm')),
    maxCostUsd: readMaxCost(flag),
  };
}

/** Returns the overrides of one role; undefined if none of its flags is set. */
function readGroup(name: string, flag: Flags['flag']): GroupOverrides | undefined {
  const machineType = flag(`${name}-machine-type`);
  const count = readCount(`${name}-count`, flag);
  if ((machineType === undefined) !== (count === undefined)) {
    throw new InvalidFlagError(`--${name}-machine-type and --${name}-count must be used together.`);
  }
  const accelerator = readAccelerator(`${name}-accelerator`, flag);
  const imageUri = flag(`${name}-image-uri`);
  const isGiven = [machineType, accelerator, imageUri].some((value) => value !== undefined);
  return isGiven ? { machineType, count, accelerator, imageUri } : undefined;
}

function withTrialCounts(draft: JobDraft): JobDraft {
  const { study } = draft;
  const maxTrials = study?.maxTrials ?? { value: TRIALS_DEFAULT, path: '--max-trial-count' };
  const parallelTrials = study?.parallelTrials ?? { value: TRIALS_DEFAULT, path: '--parallel-trial-count' };
  return study === undefined ? draft : { ...draft, study: { ...study, maxTrials, parallelTrials } };
}
