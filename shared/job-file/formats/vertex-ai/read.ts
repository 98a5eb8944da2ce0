import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import {
  CREATE_REQUEST,
  CUSTOM_JOB,
  ENCRYPTION_SPEC,
  JOB_SPEC,
  OUTPUT_DIRECTORY,
  SCHEDULING,
  TUNING_JOB,
} from '#shared/job-file/formats/vertex-ai/fields.ts';
import { readWorkerPools } from '#shared/job-file/formats/vertex-ai/read-worker-pool.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { type FieldRules, openMapping, openOptional, toCamelCase } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, readInteger, readText, readTextMap } from '#shared/job-file/parser/read-values.ts';
import { readStudySpec } from '#shared/job-file/tuning/read-study-spec.ts';

const EMPTY_VERTEX_DRAFT: JobDraft = { ...EMPTY_DRAFT, dialect: 'vertex-ai' };

/** A CustomJobSpec, CustomJob, HyperparameterTuningJob or request has at least one of them at its top. */
const TELLING_FIELDS: readonly string[] = [
  'workerPoolSpecs',
  'jobSpec',
  'studySpec',
  'trialJobSpec',
  'customJob',
  'hyperparameterTuningJob',
];

/** Whether a name at the top of a file, in camelCase, speaks for a job of Vertex AI. */
export function isVertexField(name: string): boolean {
  return TELLING_FIELDS.includes(name);
}

/**
 * Reads what describes a job of Vertex AI: a CustomJobSpec, as `gcloud ai custom-jobs create --config` takes it; a
 * CustomJob or HyperparameterTuningJob, as the REST API and `gcloud ai hp-tuning-jobs create --config` do; or a request
 * that holds one of them. What is wrong with its form goes to the findings.
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
  const place = { path: job.path, line: job.node.line };
  if (customJob !== undefined && hyperparameterTuningJob !== undefined) {
    const message = 'The file holds two jobs, customJob and hyperparameterTuningJob.';
    findings.problems.push({ code: 'TWO_JOBS', message, remedy: 'Put each job into a file of its own.', ...place });
  }
  const region = readRegion(parent, findings);
  if (region === undefined) {
    findings.warnings.push({
      code: 'REQUEST_ENVELOPE',
      message: `The file is a request to create a job; the job is taken from its ${job.path}.`,
      remedy: `Keep what is under ${job.path}, and remove the rest.`,
      ...place,
    });
  }
  return { ...(job === customJob ? readCustomJob(job, findings) : readTuningJob(job, findings)), region };
}

/** The only place where a file of Vertex AI can say its region: `projects/P/locations/REGION` (CreateCustomJobRequest.parent). */
function readRegion(parent: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  const text = readText(parent, findings);
  const region = /^projects\/[^/]+\/locations\/([^/]+)$/.exec(text?.value ?? '')?.[1];
  return text === undefined || region === undefined ? undefined : { ...text, value: region };
}

function readCustomJob(found: FoundNode, findings: Findings): JobDraft {
  noteOutput(found, CUSTOM_JOB.rules, findings);
  const job = openMapping(found, CUSTOM_JOB, findings);
  return { ...readJobSpec(job.jobSpec, findings), ...readNames(job, findings) };
}

function readTuningJob(found: FoundNode, findings: Findings): JobDraft {
  noteOutput(found, TUNING_JOB.rules, findings);
  const job = openMapping(found, TUNING_JOB, findings);
  return {
    ...readJobSpec(job.trialJobSpec, findings),
    ...readNames(job, findings),
    study: {
      ...readStudySpec(job.studySpec ?? { path: pathIn(found, 'studySpec'), node: undefined }, findings),
      maxTrials: readInteger(job.maxTrialCount, findings),
      parallelTrials: readInteger(job.parallelTrialCount, findings),
      maxFailedTrials: readInteger(job.maxFailedTrialCount, findings),
    },
  };
}

type Names = {
  readonly displayName?: FoundNode;
  readonly labels?: FoundNode;
  readonly encryptionSpec?: FoundNode;
};

function readNames({ displayName, labels, encryptionSpec }: Names, findings: Findings) {
  const encryption = openOptional(encryptionSpec, ENCRYPTION_SPEC, findings);
  return {
    displayName: readText(displayName, findings),
    labels: readTextMap(labels, findings),
    kmsKeyName: readText(encryption.kmsKeyName, findings),
  };
}

function readJobSpec(found: FoundNode | undefined, findings: Findings): JobDraft {
  const spec = openOptional(found, JOB_SPEC, findings);
  const scheduling = openOptional(spec.scheduling, SCHEDULING, findings);
  const output = openOptional(spec.baseOutputDirectory, OUTPUT_DIRECTORY, findings);
  return {
    ...EMPTY_VERTEX_DRAFT,
    pools: readWorkerPools(spec.workerPoolSpecs, findings),
    jobDir: readText(output.outputUriPrefix, findings),
    maxRunningTime: readText(scheduling.timeout, findings),
    maxWaitTime: readText(scheduling.maxWaitDuration, findings),
    strategy: readText(scheduling.strategy, findings),
    serviceAccount: readText(spec.serviceAccount, findings),
    network: readText(spec.network, findings),
    secrets: readTextMap(spec.dropforgeSecrets, findings),
  };
}

/** Says once that a file is a job as `describe` prints it, and not each of the fields that are then in it. */
function noteOutput({ node, path }: FoundNode, rules: FieldRules, findings: Findings): void {
  const output =
    node.kind !== 'MAPPING' ? [] : node.entries.filter(({ key }) => rules[toCamelCase(key)]?.use === 'OUTPUT');
  const [first] = output;
  if (first === undefined) {
    return;
  }
  findings.warnings.push({
    code: 'JOB_RESOURCE',
    message: 'The file is a job as the service returned it; its output fields are passed over.',
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
