import { resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { checkGcloudOnlyFlags, TRAINING_GCLOUD_ONLY_FLAGS } from '#cli/core/gcloud-flags.ts';
import {
  readAccelerator,
  readAllPairs,
  readCount,
  readKmsKey,
  readMaxCost,
  readScaleTier,
} from '#cli/submit/flag-values.ts';
import { type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { type PackageSource, readArchives } from '#cli/submit/package-source.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { applyOverrides, type GroupOverrides, type TrainingOverrides } from '#shared/job-file/draft/apply-overrides.ts';
import { EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';

type Flag = Invocation['flag'];

/** Reads the operands and flags of `gcloud ai-platform jobs submit training`. */
export async function readTrainingRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, isSet, io, operands } = invocation;
  const jobId = operands[0] === undefined ? undefined : readJobId(operands[0]);
  const notes = checkGcloudOnlyFlags(TRAINING_GCLOUD_ONLY_FLAGS, invocation);
  if (isSet('master-image-uri') && isSet('runtime-version')) {
    throw new UsageFailure(
      '--master-image-uri and --runtime-version are mutually exclusive: the image contains the runtime.',
    );
  }
  const packagePath = flag('package-path');
  const packages: readonly PackageSource[] = [
    ...(packagePath === undefined ? [] : [{ kind: 'FOLDER', path: resolve(io.cwd, packagePath) } as const]),
    ...readArchives(flag('packages'), { cwd: io.cwd, flag: '--packages' }),
  ];
  const overrides = { ...(jobId !== undefined && { jobId }), ...readOverrides(invocation) };
  const file = await readConfig(invocation, EMPTY_DRAFT);
  if (jobId === undefined && file.draft !== null && file.draft.jobId === undefined) {
    throw new UsageFailure('The job id is missing: pass it before the flags, or set it in the --config file.');
  }
  if (isSet('max-cost') && file.draft !== null && file.draft.study === undefined) {
    throw new UsageFailure('--max-cost is for tuning jobs, and the job has no hyperparameters: remove the flag.');
  }
  return {
    file,
    packages,
    notes,
    applyFlags: (draft, uriOf) =>
      applyOverrides(draft, {
        ...overrides,
        packageUris: packages.length === 0 ? undefined : packages.map(uriOf),
      }),
  };
}

function readOverrides({ flag, flags, isSet, rest }: Invocation): TrainingOverrides {
  return {
    labels: readAllPairs('labels', flags),
    secrets: readAllPairs('set-secrets', flags),
    scaleTier: readScaleTier(flag),
    masterType: flag('master-machine-type'),
    masterAccelerator: readAccelerator('master-accelerator', flag),
    masterImageUri: flag('master-image-uri'),
    worker: readGroup('worker', flag),
    parameterServer: readGroup('parameter-server', flag),
    pythonModule: flag('module-name'),
    args: rest.length === 0 ? undefined : rest,
    region: flag('region'),
    jobDir: flag('job-dir'),
    runtimeVersion: flag('runtime-version'),
    pythonVersion: flag('python-version'),
    serviceAccount: flag('service-account'),
    network: flag('network'),
    kmsKeyName: readKmsKey(flag),
    webAccess: isSet('enable-web-access') || undefined,
    maxCostUsd: readMaxCost(flag),
  };
}

/** Returns the overrides of one role; undefined if none of its flags is set. */
function readGroup(name: string, flag: Flag): GroupOverrides | undefined {
  const machineType = flag(`${name}-machine-type`);
  const count = readCount(`${name}-count`, flag);
  if ((machineType === undefined) !== (count === undefined)) {
    throw new UsageFailure(`--${name}-machine-type and --${name}-count must be used together.`);
  }
  const accelerator = readAccelerator(`${name}-accelerator`, flag);
  const imageUri = flag(`${name}-image-uri`);
  const isGiven = [machineType, accelerator, imageUri].some((value) => value !== undefined);
  return isGiven ? { machineType, count, accelerator, imageUri } : undefined;
}

function readJobId(jobId: string): string {
  if (!JOB_ID_PATTERN.test(jobId)) {
    throw new UsageFailure(
      `'${jobId}' is not a valid job id: use a letter followed by letters, digits and underscores, at most 128 characters.`,
    );
  }
  return jobId;
}
