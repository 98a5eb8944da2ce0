import { resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { checkGcloudOnlyFlags, TRAINING_GCLOUD_ONLY_FLAGS } from '#cli/core/gcloud-flags.ts';
import { type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { type PackageSource, readArchives } from '#cli/submit/package-source.ts';
import { writeOverrides } from '#cli/submit/write-overrides.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { joinList } from '#shared/job-file/flags/flag-values.ts';
import { suggestJobId } from '#shared/job-file/validation/check-names.ts';

const COMMAND = 'jobs submit training';

/** Reads the operands and flags of `gcloud ai-platform jobs submit training`. */
export async function readTrainingRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, io, operands } = invocation;
  const jobId = operands[0] === undefined ? undefined : readJobId(operands[0]);
  const notes = checkGcloudOnlyFlags(TRAINING_GCLOUD_ONLY_FLAGS, invocation);
  const packagePath = flag('package-path');
  const packages: readonly PackageSource[] = [
    ...(packagePath === undefined ? [] : [{ kind: 'FOLDER', path: resolve(io.cwd, packagePath) } as const]),
    ...readArchives(flag('packages'), { cwd: io.cwd, flag: '--packages' }),
  ];
  const file = await readConfig(invocation, COMMAND);
  if (jobId === undefined && file.reading.draft !== null && file.reading.draft.jobId === undefined) {
    throw new UsageFailure('The job id is missing: pass it before the flags, or set it in the --config file.');
  }
  return trainingRequestOf(invocation, { file, jobId, packages, notes });
}

/** A job whose flags are those of the command; they override the file. */
export function trainingRequestOf(
  invocation: Invocation,
  request: Pick<JobRequest, 'file' | 'jobId' | 'packages' | 'notes'>,
): JobRequest {
  const { packages } = request;
  return {
    ...request,
    command: COMMAND,
    writeFlags: (uriOf) =>
      writeOverrides(COMMAND, invocation, {
        packages: packages.length === 0 ? [] : [joinList(packages.map(uriOf))],
      }),
  };
}

function readJobId(jobId: string): string {
  if (!JOB_ID_PATTERN.test(jobId)) {
    throw new UsageFailure(
      /[./]/.test(jobId)
        ? `'${jobId}' is not a valid job id. A job file is passed with --config, a folder or a .py file with --package-path; an id looks like ${suggestJobId(jobId)}.`
        : `'${jobId}' is not a valid job id: use a letter followed by letters, digits and underscores, at most 128 characters. For example: ${suggestJobId(jobId)}`,
    );
  }
  return jobId;
}
