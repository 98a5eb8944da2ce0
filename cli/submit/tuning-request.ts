import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { checkGcloudOnlyFlags, TUNING_JOB_GCLOUD_ONLY_FLAGS } from '#cli/core/gcloud-flags.ts';
import { readAllPairs, readCount, readKmsKey, readMaxCost } from '#cli/submit/flag-values.ts';
import { type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { applyOverrides } from '#shared/job-file/draft/apply-overrides.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { TUNING_ID_CHARS_MAX } from '#shared/tuning/trial.ts';

/** gcloud's choices, in its spelling: lowercase with dashes. */
const ALGORITHMS: readonly string[] = ['algorithm-unspecified', 'grid-search', 'random-search'];

/** gcloud's default of --max-trial-count and --parallel-trial-count. */
const COUNT_DEFAULT = 1;

/** Reads the flags of `gcloud ai hp-tuning-jobs create`, which override the --config file. */
export async function readTuningRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, flags, isSet } = invocation;
  const displayName = flag('display-name');
  if (displayName === undefined || displayName === '') {
    throw new UsageFailure('--display-name is missing: pass a name for the tuning job.');
  }
  if (flag('config') === undefined) {
    throw new UsageFailure('--config is missing: pass a file with the studySpec and the trialJobSpec.');
  }
  const notes = checkGcloudOnlyFlags(TUNING_JOB_GCLOUD_ONLY_FLAGS, invocation);
  const overrides = {
    labels: readAllPairs('labels', flags),
    secrets: readAllPairs('set-secrets', flags),
    region: flag('region'),
    serviceAccount: flag('service-account'),
    network: flag('network'),
    kmsKeyName: readKmsKey(flag),
    webAccess: isSet('enable-web-access') || undefined,
    maxTrials: readCount('max-trial-count', flag),
    parallelTrials: readCount('parallel-trial-count', flag),
    algorithm: readAlgorithm(flag('algorithm')),
    maxCostUsd: readMaxCost(flag),
  };
  const file = await readTuningFile(invocation);
  const requestOf = (name: string): JobRequest => ({
    file,
    packages: [],
    notes,
    applyFlags: (draft) => ({
      ...withCountDefaults(applyOverrides(draft, overrides)),
      displayName: { value: name, path: '--display-name' },
    }),
    // The suffix is part of the job id, which is cut at its limit.
    rename: (suffix) => requestOf(`${displayName.slice(0, TUNING_ID_CHARS_MAX - suffix.length - 1)} ${suffix}`),
  });
  return requestOf(displayName);
}

async function readTuningFile(invocation: Invocation): Promise<JobRequest['file']> {
  const config = invocation.flag('config');
  const file = await readConfig(invocation, EMPTY_DRAFT);
  if (file.draft !== null && file.draft.dialect !== 'vertex-ai') {
    throw new UsageFailure(
      `${config} is not a Vertex AI HyperparameterTuningJob. Submit it with \`dropforge jobs submit training JOB --config ${config}\`.`,
    );
  }
  if (file.draft !== null && file.draft.study === undefined) {
    throw new UsageFailure(
      `${config} has no studySpec. Add one, or submit it with \`dropforge custom-jobs create --display-name NAME --config ${config}\`.`,
    );
  }
  return file;
}

function readAlgorithm(text: string | undefined): string | undefined {
  if (text !== undefined && !ALGORITHMS.includes(text.toLowerCase().replaceAll('_', '-'))) {
    throw new UsageFailure(`--algorithm ${text}: the choices are ${ALGORITHMS.join(', ')}.`);
  }
  return text?.toUpperCase().replaceAll('-', '_');
}

function withCountDefaults(draft: JobDraft): JobDraft {
  const { study } = draft;
  return study === undefined
    ? draft
    : {
        ...draft,
        study: {
          ...study,
          maxTrials: study.maxTrials ?? { value: COUNT_DEFAULT, path: '--max-trial-count' },
          parallelTrials: study.parallelTrials ?? { value: COUNT_DEFAULT, path: '--parallel-trial-count' },
        },
      };
}
