import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { readSlots } from '#shared/job-file/fields/field.ts';
import {
  CREATE_REQUEST,
  CUSTOM_JOB,
  ENCRYPTION_SPEC,
  JOB_SPEC,
  OUTPUT_DIRECTORY,
  PSC_INTERFACE_CONFIG,
  SCHEDULING,
  TUNING_JOB,
} from '#shared/job-file/formats/vertex-ai/fields.ts';
import { readWorkerPools } from '#shared/job-file/formats/vertex-ai/read-worker-pool.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { type FieldRules, openMapping, openOptional, toCamelCase } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, readInteger, readNumber, readText } from '#shared/job-file/parser/read-values.ts';
import { readStudySpec } from '#shared/job-file/tuning/read-study-spec.ts';

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
export function readVertexJob(root: FoundNode, findings: Findings): JobDraft {
  const names = namesIn(root);
  if (names.includes('customJob') || names.includes('hyperparameterTuningJob')) {
    return readRequest(root, findings);
  }
  if (names.includes('studySpec') || names.includes('trialJobSpec')) {
    return readTuningJob(root, findings);
  }
  return names.includes('jobSpec') ? readCustomJob(root, findings) : readJobSpec(root, findings);
}

function readRequest(root: FoundNode, findings: Findings): JobDraft {
  const { parent, customJob, hyperparameterTuningJob } = openMapping(root, CREATE_REQUEST, findings);
  const job = customJob ?? hyperparameterTuningJob;
  if (job === undefined) {
    return EMPTY_VERTEX_DRAFT;
  }
  const location = { path: job.path, line: job.node.line };
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
  warnOfOutput(found, CUSTOM_JOB.rules, findings);
  const job = openMapping(found, CUSTOM_JOB, findings);
  const draft = readSlots(readJobSpec(job.jobSpec, findings), { rules: CUSTOM_JOB.rules, fields: job }, findings);
  return readEncryption(draft, job.encryptionSpec, findings);
}

function readTuningJob(found: FoundNode, findings: Findings): JobDraft {
  warnOfOutput(found, TUNING_JOB.rules, findings);
  const job = openMapping(found, TUNING_JOB, findings);
  const draft = readSlots(readJobSpec(job.trialJobSpec, findings), { rules: TUNING_JOB.rules, fields: job }, findings);
  return {
    ...readEncryption(draft, job.encryptionSpec, findings),
    study: {
      ...readStudySpec(job.studySpec ?? { path: pathIn(found, 'studySpec'), node: undefined }, findings),
      maxTrials: readInteger(job.maxTrialCount, findings),
      parallelTrials: readInteger(job.parallelTrialCount, findings),
      maxFailedTrials: readInteger(job.maxFailedTrialCount, findings),
      maxCostUsd: readNumber(job.dropforgeMaxCost, findings),
    },
  };
}

function readEncryption(draft: JobDraft, found: FoundNode | undefined, findings: Findings): JobDraft {
  const fields = openOptional(found, ENCRYPTION_SPEC, findings);
  return readSlots(draft, { rules: ENCRYPTION_SPEC.rules, fields }, findings);
}

function readJobSpec(found: FoundNode | undefined, findings: Findings): JobDraft {
  const spec = openOptional(found, JOB_SPEC, findings);
  const messages = [
    { rules: JOB_SPEC.rules, fields: spec },
    { rules: SCHEDULING.rules, fields: openOptional(spec.scheduling, SCHEDULING, findings) },
    {
      rules: PSC_INTERFACE_CONFIG.rules,
      fields: openOptional(spec.pscInterfaceConfig, PSC_INTERFACE_CONFIG, findings),
    },
    { rules: OUTPUT_DIRECTORY.rules, fields: openOptional(spec.baseOutputDirectory, OUTPUT_DIRECTORY, findings) },
  ];
  const draft = { ...EMPTY_VERTEX_DRAFT, pools: readWorkerPools(spec.workerPoolSpecs, findings) };
  return messages.reduce<JobDraft>((result, message) => readSlots(result, message, findings), draft);
}

/** Warns once about a job as `describe` prints it, rather than about each of its output fields. */
function warnOfOutput({ node, path }: FoundNode, rules: FieldRules, findings: Findings): void {
  const output =
    node.kind !== 'MAPPING' ? [] : node.entries.filter(({ key }) => rules[toCamelCase(key)]?.use === 'OUTPUT');
  const [first] = output;
  if (first === undefined) {
    return;
  }
  findings.warnings.push({
    code: 'JOB_RESOURCE',
    message: 'The file is a job as the service returned it; its output fields are ignored.',
    remedy: `They can be removed: ${output.map(({ key }) => key).join(', ')}.`,
    ...locationOf({ path: pathIn({ path, node }, toCamelCase(first.key)), line: first.line }),
  });
}

function namesIn({ node }: FoundNode): readonly string[] {
  return node.kind === 'MAPPING' ? node.entries.map(({ key }) => toCamelCase(key)) : [];
}

function pathIn({ path }: FoundNode, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
