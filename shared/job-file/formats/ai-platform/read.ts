import { EMPTY_DRAFT, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { readMapping } from '#shared/job-file/fields/table.ts';
import {
  JOB_FIELDS,
  POOLS_PATH,
  parentLookup,
  TRAINING_INPUT_FIELDS,
} from '#shared/job-file/formats/ai-platform/fields.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { toCamelCase, warnOfOutput } from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';
import { HYPERPARAMETER_FIELDS } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';

/** Whether a field at the top of a file identifies AI Platform's Job. */
export function isJobField(name: string): boolean {
  return Object.hasOwn(JOB_FIELDS, name);
}

/** Whether a field belongs to TrainingInput; some files have those at the top. */
export function isTrainingInputField(name: string): boolean {
  return Object.hasOwn(TRAINING_INPUT_FIELDS, name);
}

/**
 * Whether a field belongs to HyperparameterSpec. A file with only those at the top is not a job; read as one, each of
 * them is an unknown field that belongs under trainingInput.hyperparameters.
 */
export function isHyperparametersField(name: string): boolean {
  return Object.hasOwn(HYPERPARAMETER_FIELDS, name);
}

/**
 * Reads AI Platform's Job resource (`ml.googleapis.com` v1), all of its fields; syntax errors are added to the
 * findings. The master's pool is always present and first; those of other roles are present if any of their fields is.
 */
export function readAiPlatformJob(root: FoundNode, findings: Findings): JobDraft {
  // The output of `gcloud ai-platform jobs describe` can be submitted again.
  warnOfOutput(
    root,
    {
      rules: JOB_FIELDS,
      remedyOf: ([first = '']) =>
        `Keep jobId, labels and trainingInput, and remove ${toCamelCase(first)} and the other fields that the service sets.`,
    },
    findings,
  );
  const target = { ...EMPTY_DRAFT, pools: [emptyPool('master', POOLS_PATH)] };
  return readMapping(root, { table: JOB_FIELDS, target }, { ...findings, names: { parentOf: parentLookup('master') } });
}
