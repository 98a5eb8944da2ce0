import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitEmpty, omitEmptyList, omitUndefined, textMapOf } from '#shared/job-file/draft/print-fields.ts';
import { printWorkerPool } from '#shared/job-file/formats/vertex-ai/print-worker-pool.ts';
import { printStudySpec } from '#shared/job-file/tuning/print-study-spec.ts';

/**
 * Prints a draft of the dialect vertex-ai: as HyperparameterTuningJob where it has a study, otherwise as CustomJob.
 * `readVertexJob` gives the same draft again, but for the places. What is not said is not printed; but the field of the
 * job spec always is, for by it a file shows what it is. Labels are a
 * Map, which YAML prints as a mapping: an object would move names like `10` to the front.
 */
export function printVertexJob(draft: JobDraft): Record<string, unknown> {
  const job = printJob(draft);
  const name = draft.study === undefined ? 'customJob' : 'hyperparameterTuningJob';
  // A job says no region; the request that creates it does.
  return draft.region === undefined ? job : { parent: `projects/-/locations/${draft.region.value}`, [name]: job };
}

function printJob(draft: JobDraft): Record<string, unknown> {
  const { displayName, kmsKeyName, study } = draft;
  const jobSpec = printJobSpec(draft);
  return omitUndefined({
    displayName: displayName?.value,
    ...(study === undefined
      ? { jobSpec }
      : {
          studySpec: printStudySpec(study),
          maxTrialCount: study.maxTrials?.value,
          parallelTrialCount: study.parallelTrials?.value,
          maxFailedTrialCount: study.maxFailedTrials?.value,
          trialJobSpec: jobSpec,
        }),
    labels: textMapOf(draft.labels),
    encryptionSpec: omitEmpty({ kmsKeyName: kmsKeyName?.value }),
  });
}

function printJobSpec(draft: JobDraft): Record<string, unknown> {
  return omitUndefined({
    workerPoolSpecs: omitEmptyList(draft.pools.map(printWorkerPool)),
    scheduling: omitEmpty({
      timeout: draft.maxRunningTime?.value,
      strategy: draft.strategy?.value,
      maxWaitDuration: draft.maxWaitTime?.value,
    }),
    serviceAccount: draft.serviceAccount?.value,
    network: draft.network?.value,
    baseOutputDirectory: omitEmpty({ outputUriPrefix: draft.jobDir?.value }),
    dropforgeSecrets: textMapOf(draft.secrets),
  });
}
