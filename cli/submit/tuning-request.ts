import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { checkGcloudOnlyFlags, TUNING_JOB_GCLOUD_ONLY_FLAGS } from '#cli/core/gcloud-flags.ts';
import { type ConfigFile, type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { writeOverrides } from '#cli/submit/write-overrides.ts';
import { TUNING_ID_CHARS_MAX } from '#shared/tuning/trial.ts';

const COMMAND = 'hp-tuning-jobs create';

/** Reads the flags of `gcloud ai hp-tuning-jobs create`, which override the --config file. */
export async function readTuningRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag } = invocation;
  const displayName = flag('display-name');
  if (displayName === undefined || displayName === '') {
    throw new UsageFailure('--display-name is missing: pass a name for the tuning job.');
  }
  if (flag('config') === undefined) {
    throw new UsageFailure('--config is missing: pass a file with the studySpec and the trialJobSpec.');
  }
  const notes = checkGcloudOnlyFlags(TUNING_JOB_GCLOUD_ONLY_FLAGS, invocation);
  const file = await readTuningFile(invocation);
  const requestOf = (name: string): JobRequest => ({
    file,
    command: COMMAND,
    packages: [],
    notes,
    writeFlags: () => writeOverrides(COMMAND, invocation, { 'display-name': [name] }),
    // The suffix is part of the job id, which is cut at its limit.
    rename: (suffix) => requestOf(`${displayName.slice(0, TUNING_ID_CHARS_MAX - suffix.length - 1)} ${suffix}`),
  });
  return requestOf(displayName);
}

async function readTuningFile(invocation: Invocation): Promise<ConfigFile> {
  const config = invocation.flag('config');
  const file = await readConfig(invocation, COMMAND);
  const { draft } = file.reading;
  if (draft !== null && draft.dialect !== 'vertex-ai') {
    throw new UsageFailure(
      `${config} is not a Vertex AI HyperparameterTuningJob. Submit it with \`dropforge jobs submit training JOB --config ${config}\`.`,
    );
  }
  if (draft !== null && draft.study === undefined) {
    throw new UsageFailure(
      `${config} has no studySpec. Add one, or submit it with \`dropforge custom-jobs create --display-name NAME --config ${config}\`.`,
    );
  }
  return file;
}
