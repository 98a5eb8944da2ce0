import type { JobDraft, KeyedText } from '#shared/job-file/draft/job-draft.ts';
import { printWorkerPool } from '#shared/job-file/formats/vertex-ai/print-worker-pool.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { printFields, printSaid, unlessEmpty } from '#shared/job-file/parser/print-fields.ts';
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
  return printFields({
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
    labels: mapOf(draft.labels),
    encryptionSpec: printSaid({ kmsKeyName: kmsKeyName?.value }),
  });
}

function printJobSpec(draft: JobDraft): Record<string, unknown> {
  return printFields({
    workerPoolSpecs: unlessEmpty(draft.pools.map(printWorkerPool)),
    scheduling: printSaid({
      timeout: draft.maxRunningTime?.value,
      strategy: draft.strategy?.value,
      maxWaitDuration: draft.maxWaitTime?.value,
    }),
    serviceAccount: draft.serviceAccount?.value,
    network: draft.network?.value,
    baseOutputDirectory: printSaid({ outputUriPrefix: draft.jobDir?.value }),
    dropforgeSecrets: mapOf(draft.secrets),
  });
}

function mapOf(list: readonly Located<KeyedText>[]): ReadonlyMap<string, string> | undefined {
  return list.length === 0 ? undefined : new Map(list.map(({ value }) => [value.key, value.text]));
}
