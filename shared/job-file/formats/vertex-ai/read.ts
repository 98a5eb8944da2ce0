import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { readMapping } from '#shared/job-file/fields/table.ts';
import {
  CUSTOM_JOB_FIELDS,
  JOB_SPEC_FIELDS,
  parentOf,
  REQUEST_FIELDS,
  TUNING_JOB_FIELDS,
} from '#shared/job-file/formats/vertex-ai/fields.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import {
  type FieldRules,
  joinPath,
  openMapping,
  toCamelCase,
  warnOfOutput,
} from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, locationOfNode, readText } from '#shared/job-file/parser/read-values.ts';

const EMPTY_VERTEX_DRAFT: JobDraft = { ...EMPTY_DRAFT, dialect: 'vertex-ai' };

/** A CustomJobSpec, CustomJob, HyperparameterTuningJob or request has at least one of these at the top. */
const IDENTIFYING_FIELDS: readonly string[] = [
  'workerPoolSpecs',
  'jobSpec',
  'studySpec',
  'trialJobSpec',
  'customJob',
  'hyperparameterTuningJob',
];

/** Whether a field at the top of a file, in camelCase, identifies a job of Vertex AI. */
export function isVertexField(name: string): boolean {
  return IDENTIFYING_FIELDS.includes(name);
}

/**
 * Reads a job of Vertex AI: a CustomJobSpec, as `gcloud ai custom-jobs create --config` accepts it; a CustomJob or
 * HyperparameterTuningJob, as the REST API and `gcloud ai hp-tuning-jobs create --config` do; or a request that
 * contains one of them. Syntax errors are added to the findings.
 */
export function readVertexJob(root: FoundNode, given: Findings): JobDraft {
  const findings = { ...given, names: { parentOf } };
  const names = root.node.kind === 'MAPPING' ? root.node.entries.map(({ key }) => toCamelCase(key)) : [];
  if (names.includes('customJob') || names.includes('hyperparameterTuningJob')) {
    return readRequest(root, findings);
  }
  if (names.includes('studySpec') || names.includes('trialJobSpec')) {
    return readTuningJob(root, findings);
  }
  return names.includes('jobSpec')
    ? readCustomJob(root, findings)
    : readMapping(root, { table: JOB_SPEC_FIELDS, target: EMPTY_VERTEX_DRAFT }, findings);
}

function readRequest(root: FoundNode, findings: Findings): JobDraft {
  const { parent, customJob, hyperparameterTuningJob } = openMapping(root, REQUEST_FIELDS, findings);
  const job = customJob ?? hyperparameterTuningJob;
  if (job === undefined) {
    return EMPTY_VERTEX_DRAFT;
  }
  const location = locationOfNode(job);
  if (customJob !== undefined && hyperparameterTuningJob !== undefined) {
    const message = 'The file has two jobs, customJob and hyperparameterTuningJob.';
    findings.problems.push({ code: 'TWO_JOBS', message, remedy: 'Put each job into its own file.', ...location });
  }
  const region = readRegion(parent, findings);
  if (region === undefined) {
    findings.warnings.push({
      code: 'REQUEST_ENVELOPE',
      message: `The file is a request to create a job; the job is read from ${job.path}.`,
      remedy: `Keep the content of ${job.path}, and remove the rest.`,
      ...location,
    });
  }
  return { ...(job === customJob ? readCustomJob(job, findings) : readTuningJob(job, findings)), region };
}

/** The only field of Vertex AI's files with a region: `projects/P/locations/REGION` (CreateCustomJobRequest.parent). */
function readRegion(parent: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  const text = readText(parent, findings);
  const region = /^projects\/[^/]+\/locations\/([^/]+)$/.exec(text?.value ?? '')?.[1];
  return text === undefined || region === undefined ? undefined : { ...text, value: region };
}

function readCustomJob(found: FoundNode, findings: Findings): JobDraft {
  warnOfResource(found, CUSTOM_JOB_FIELDS, findings);
  return readMapping(found, { table: CUSTOM_JOB_FIELDS, target: EMPTY_VERTEX_DRAFT }, findings);
}

function readTuningJob(found: FoundNode, findings: Findings): JobDraft {
  warnOfResource(found, TUNING_JOB_FIELDS, findings);
  const study = { path: joinPath(found.path, 'studySpec'), metrics: [] };
  return readMapping(found, { table: TUNING_JOB_FIELDS, target: { ...EMPTY_VERTEX_DRAFT, study } }, findings);
}

/** A job as `describe` prints it. */
function warnOfResource(found: FoundNode, rules: FieldRules, findings: Findings): void {
  warnOfOutput(found, { rules, remedyOf: (names) => `They can be removed: ${names.join(', ')}.` }, findings);
}
