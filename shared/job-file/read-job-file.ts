import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import {
  isHyperparametersField,
  isJobField,
  isTrainingInputField,
  readAiPlatformJob,
} from '#shared/job-file/formats/ai-platform/read.ts';
import { isDropforgeField, readDropforgeJob } from '#shared/job-file/formats/dropforge/read.ts';
import { isVertexField, readVertexJob } from '#shared/job-file/formats/vertex-ai/read.ts';
import { recognizeOtherTool } from '#shared/job-file/other-tools.ts';
import { createFindings, type Findings, type Found, reportOf } from '#shared/job-file/parser/findings.ts';
import { toCamelCase } from '#shared/job-file/parser/open-mapping.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * A parsed job file. The draft is null only if the file is not a job; it includes the problems, so that `checkJob`
 * reports all of them at once and does not accept it.
 */
export type JobFileReading = Found & { readonly draft: JobDraft | null };

type Mapping = Extract<SourceNode, { kind: 'MAPPING' }>;

type Reader = (root: FoundNode, findings: Findings) => JobDraft;

/**
 * Reads a job file of any dialect. Never throws: all syntax errors and unknown fields are among the problems, in file
 * order. `checkJob` validates the values.
 */
export function readJobFile(source: string | Uint8Array, { fileName }: { readonly fileName: string }): JobFileReading {
  const { root, problems } = parseSource(source, fileName);
  const findings = createFindings();
  findings.problems.push(...problems);
  const draft = root === null ? null : readRoot(root, fileName, findings);
  const found = reportOf(findings);
  return { draft: draft && { ...draft, ...found }, ...found };
}

function readRoot(root: SourceNode, fileName: string, findings: Findings): JobDraft | null {
  if (root.kind !== 'MAPPING') {
    findings.problems.push(
      root.kind === 'LIST'
        ? notAJobFile(`${fileName} is a list, not a mapping of fields.`, 'Remove the hyphens before its fields. ')
        : notAJobFile(`${fileName} is a text, not a mapping of fields.`),
    );
    return null;
  }
  const job = unwrapRequest(root, findings);
  const foreign = recognizeOtherTool(
    fileName,
    job.entries.map(({ key }) => key),
  );
  if (foreign !== undefined) {
    findings.problems.push(foreign);
    return null;
  }
  const read = readerOf(job);
  if (read !== null) {
    return read({ path: '', node: job }, findings);
  }
  const [first] = job.entries;
  const hint =
    first === undefined ? '' : didYouMean(first.key, ['trainingInput', 'workerPoolSpecs', 'module', 'image']);
  findings.problems.push(notAJobFile(`${fileName} has none of the fields that identify a job file.`, hint));
  return null;
}

/** Selects the dialect by the fields at the top, which are unique to each; AI Platform's loose fields come last. */
function readerOf({ entries }: Mapping): Reader | null {
  const names = entries.map(({ key }) => toCamelCase(key));
  if (names.some(isVertexField)) {
    return readVertexJob;
  }
  if (names.includes('trainingInput')) {
    return readAiPlatform;
  }
  // Before jobId, so that in such a file it is a misspelled name, not every other field an unknown one.
  if (names.some(isDropforgeField)) {
    return readDropforgeJob;
  }
  const isAiPlatform = [isJobField, isTrainingInputField, isHyperparametersField].some((isField) =>
    names.some(isField),
  );
  return isAiPlatform ? readAiPlatform : null;
}

function readAiPlatform({ path, node }: FoundNode, findings: Findings): JobDraft {
  return readAiPlatformJob({ path, node: node.kind === 'MAPPING' ? wrapLooseFields(node, findings) : node }, findings);
}

/** `gcloud --log-http` prints requests with the job under `body`. */
function unwrapRequest(root: Mapping, findings: Findings): Mapping {
  const body = root.entries.find(({ key }) => key === 'body');
  const isRequest = root.entries.some(({ key }) => key === 'method' || key === 'uri');
  if (body?.value.kind !== 'MAPPING' || !isRequest) {
    return root;
  }
  findings.warnings.push({
    code: 'REQUEST_ENVELOPE',
    message: 'The file is a printed HTTP request; the job is read from its body.',
    remedy: 'Keep the content of body, and remove the rest.',
    path: 'body',
    line: body.line,
  });
  return body.value;
}

/** Some files have TrainingInput's fields at the top, where gcloud ignores them without a message. */
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
    message: 'Fields of trainingInput are at the top of the file; they are read as if they were under it.',
    remedy: 'Put a line "trainingInput:" above them and indent them.',
    line,
  });
  const wrapped: SourceNode = { kind: 'MAPPING', line, entries: loose };
  return { ...job, entries: [...outside, { key: 'trainingInput', line, value: wrapped }] };
}

function notAJobFile(message: string, hint = ''): Problem {
  return {
    code: 'NOT_A_JOB_FILE',
    message,
    remedy: `${hint}Write module: with the Python module to run or image: with a container image (see docs/job-file.md), trainingInput: as for AI Platform, or workerPoolSpecs: as for Vertex AI.`,
    line: 1,
  };
}
