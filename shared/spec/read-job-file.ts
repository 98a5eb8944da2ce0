import type { Problem } from '#shared/protocol/report.ts';
import { type Findings, inFileOrder } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';
import { didYouMean } from '#shared/spec/nearest-name.ts';
import { toCamelCase } from '#shared/spec/open-mapping.ts';
import { parseSource } from '#shared/spec/parse-source.ts';
import { isJobField, isTrainingInputField, readAiPlatformJob } from '#shared/spec/read-ai-platform.ts';
import type { SourceEntry, SourceNode } from '#shared/spec/source-tree.ts';

/**
 * A job file as read. There is a draft whenever the file is a job at all, even one with problems; it carries them
 * along, so that `checkJob` can show all that is wrong at once and makes no job of it.
 */
export type JobFileReading = {
  readonly draft: JobDraft | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

type Mapping = Extract<SourceNode, { kind: 'MAPPING' }>;

/** Names at the top of files for Vertex AI. */
const VERTEX_FIELDS: ReadonlySet<string> = new Set([
  'workerPoolSpecs',
  'worker_pool_specs',
  'jobSpec',
  'studySpec',
  'trialJobSpec',
  'customJob',
  'hyperparameterTuningJob',
]);

/**
 * Reads a job file into a draft. Never throws: whatever is wrong with the file is among the problems, all at once and
 * in the file's order. Whether what is asked for can be done is `checkJob`'s to say.
 */
export function readJobFile(source: string | Uint8Array, { fileName }: { readonly fileName: string }): JobFileReading {
  const { root, problems } = parseSource(source, fileName);
  const findings: Findings = { problems: [...problems], warnings: [] };
  const draft = root === null ? null : readRoot(root, fileName, findings);
  const found = { problems: inFileOrder(findings.problems), warnings: inFileOrder(findings.warnings) };
  return { draft: draft && { ...draft, ...found }, ...found };
}

function readRoot(root: SourceNode, fileName: string, findings: Findings): JobDraft | null {
  if (root.kind !== 'MAPPING') {
    findings.problems.push(
      notAJobFile(`${fileName} holds a ${root.kind === 'LIST' ? 'list' : 'text'}, not a mapping of fields.`),
    );
    return null;
  }
  const vertex = root.entries.find(({ key }) => VERTEX_FIELDS.has(key));
  if (vertex !== undefined) {
    findings.problems.push(vertexUnsupported(vertex));
    return null;
  }
  const job = unwrapRequest(root, findings);
  if (job.entries.some(({ key }) => isJobField(toCamelCase(key)) || isTrainingInputField(toCamelCase(key)))) {
    return readAiPlatformJob({ path: '', node: wrapLooseFields(job, findings) }, findings);
  }
  const [first] = job.entries;
  const hint = first === undefined ? '' : didYouMean(first.key, ['trainingInput', 'jobId']);
  findings.problems.push(notAJobFile(`${fileName} has neither trainingInput nor any other field of a job.`, hint));
  return null;
}

/** gcloud's `--log-http` prints requests with the job under `body`. */
function unwrapRequest(root: Mapping, findings: Findings): Mapping {
  const body = root.entries.find(({ key }) => key === 'body');
  const isRequest = root.entries.some(({ key }) => key === 'method' || key === 'uri');
  if (body?.value.kind !== 'MAPPING' || !isRequest) {
    return root;
  }
  findings.warnings.push({
    code: 'REQUEST_ENVELOPE',
    message: 'The file is a printed HTTP request; the job is taken from its body.',
    remedy: 'Keep what is under body, and remove the rest.',
    path: 'body',
    line: body.line,
  });
  return body.value;
}

/** Some files leave trainingInput out and write its fields at the top, where gcloud drops them without a word. */
function wrapLooseFields(job: Mapping, findings: Findings): Mapping {
  const names = new Set(job.entries.map(({ key }) => toCamelCase(key)));
  if (names.has('trainingInput') || ![...names].some(isTrainingInputField)) {
    return job;
  }
  const outside = job.entries.filter(({ key }) => isJobField(toCamelCase(key)));
  const loose = job.entries.filter((entry) => !outside.includes(entry));
  const line = loose[0]?.line ?? job.line;
  findings.warnings.push({
    code: 'WRAPPER_MISSING',
    message: 'Fields of trainingInput stand at the top of the file; they are taken as if they were under it.',
    remedy: 'Put a line "trainingInput:" above them and indent them.',
    line,
  });
  const wrapped: SourceNode = { kind: 'MAPPING', line, entries: loose };
  return { ...job, entries: [...outside, { key: 'trainingInput', line, value: wrapped }] };
}

function vertexUnsupported({ key, line }: SourceEntry): Problem {
  return {
    code: 'UNSUPPORTED_FIELD',
    message: `${key} is not supported: job files of Vertex AI are not read.`,
    remedy:
      'Write the job in the form of AI Platform: jobId, and trainingInput with masterType, packageUris, pythonModule and args.',
    path: key,
    line,
  };
}

function notAJobFile(message: string, hint = ''): Problem {
  return {
    code: 'NOT_A_JOB_FILE',
    message,
    remedy: `${hint}Write jobId, and under trainingInput what is to be run: pythonModule, args, region, scaleTier.`,
    line: 1,
  };
}
