import type { Role } from '#shared/domain/job-spec.ts';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { JOB, parentOf } from '#shared/job-file/formats/dropforge/fields.ts';
import { readDisk, readGroup, readMachine } from '#shared/job-file/formats/dropforge/read-machines.ts';
import { toApiDuration } from '#shared/job-file/formats/dropforge/values.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type Fields, openMapping } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readBoolean,
  readInteger,
  readText,
  readTextList,
  readTextMap,
} from '#shared/job-file/parser/read-values.ts';
import { readTune } from '#shared/job-file/tuning/read-tune.ts';

/**
 * Names that say nothing about the form: AI Platform's and Vertex AI's jobs have them at the top as well, or files that
 * lie beside programs do, such as App Engine's `app.yaml` and the settings of build services.
 */
const COMMON_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'command',
  'args',
  'packages',
  'region',
  'output',
  'runtime',
  'python',
  'env',
  'secrets',
  'labels',
  'serviceAccount',
  'network',
]);

const WORDS_SHOWN_MAX = 4;

const GROUPS = [
  ['worker', 'workers'],
  ['ps', 'parameterServers'],
  ['evaluator', 'evaluators'],
] as const satisfies readonly (readonly [Role, keyof JobFields])[];

type JobFields = Fields<(typeof JOB)['rules']>;

/** Whether a name at the top of a file speaks for Dropforge's own form; names that others have too do not. */
export function isDropforgeField(name: string): boolean {
  return Object.hasOwn(JOB.rules, name) && !COMMON_FIELDS.has(name);
}

/**
 * Reads Dropforge's own job form (`docs/job-file.md`); what is wrong with its form goes to the findings. Durations,
 * GPUs and enumerations are in the draft as AI Platform's API spells them; what is none stays as it is written.
 */
export function readDropforgeJob(root: FoundNode, findings: Findings): JobDraft {
  const job = openMapping(root, JOB, findings);
  const first: PoolDraft = {
    ...emptyPool('master', ''),
    ...readMachine(job, findings),
    ...readDisk(job.disk, findings),
    program: readProgram(job, findings),
  };
  return {
    ...EMPTY_DRAFT,
    dialect: 'dropforge',
    jobId: readText(job.name, findings),
    labels: readTextMap(job.labels, findings),
    secrets: readTextMap(job.secrets, findings),
    pools: [first, ...GROUPS.flatMap(([role, name]) => readGroup(job[name], { ...first, role, path: name }, findings))],
    region: readText(job.region, findings),
    jobDir: readText(job.output, findings),
    runtimeVersion: readText(job.runtime, findings),
    pythonVersion: readText(job.python, findings),
    maxRunningTime: readDuration(job.maxRuntime, findings),
    maxWaitTime: readDuration(job.maxWait, findings),
    strategy: readStrategy(job, findings),
    restartsMax: readInteger(job.retries, findings),
    serviceAccount: readText(job.serviceAccount, findings),
    network: readText(job.network, findings),
    kmsKeyName: readText(job.kmsKey, findings),
    study: job.tune && readTune(job.tune, parentOf, findings),
  };
}

function readProgram(job: JobFields, findings: Findings): ProgramDraft {
  return {
    ...EMPTY_PROGRAM,
    packageUris: readTextList(job.packages, findings),
    pythonModule: readText(job.module, findings),
    imageUri: readText(job.image, findings),
    command: readWords(job.command, findings),
    args: readArgs(job.args, findings),
    environment: readTextMap(job.env, findings),
  };
}

/** A list as it is; of a mapping, `epochs: 10` becomes `--epochs=10`, true a flag alone, and false nothing. */
function readArgs(found: FoundNode | undefined, findings: Findings): readonly Located<string>[] | undefined {
  if (found?.node.kind !== 'MAPPING') {
    return readWords(found, findings);
  }
  return found.node.entries.flatMap(({ key, value: node }) => {
    const path = `${found.path}.${key}`;
    const text = readText({ path, node }, findings);
    if (text === undefined || (node.kind === 'SCALAR' && node.value === false)) {
      return [];
    }
    const flag = key.startsWith('-') ? key : `--${key}`;
    const isAlone = node.kind === 'SCALAR' && node.value === true;
    return [{ ...text, value: isAlone ? flag : `${flag}=${text.value}` }];
  });
}

/** A list of words; a line as for a shell would become a single one, so it is refused. */
function readWords(found: FoundNode | undefined, findings: Findings): readonly Located<string>[] | undefined {
  const words = found?.node.kind === 'SCALAR' ? found.node.text.trim().split(/\s+/) : [];
  if (found === undefined || words.length < 2) {
    return readTextList(found, findings);
  }
  const shown = words.slice(0, WORDS_SHOWN_MAX).join(', ') + (words.length > WORDS_SHOWN_MAX ? ', …' : '');
  const text = { path: found.path, line: found.node.line, value: found.node.kind === 'SCALAR' ? found.node.text : '' };
  const message = `${found.path} is one text of ${words.length} words, and no shell will split it.`;
  reportInvalid(text, { code: 'WRONG_TYPE', message, remedy: `Write a list: [${shown}].` }, findings);
  return undefined;
}

function readDuration(found: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  const text = readText(found, findings);
  return text && { ...text, value: toApiDuration(text.value) };
}

/** In the draft a strategy of Vertex AI's; undefined is on demand. */
function readStrategy(job: JobFields, findings: Findings): Located<string> | undefined {
  const spot = readBoolean(job.spot, findings);
  const flexStart = readBoolean(job.flexStart, findings);
  if (spot?.value === true && flexStart?.value === true) {
    const message = 'A job has Spot VMs, or waits for capacity with Flex-start, and not both.';
    reportInvalid(flexStart, { code: 'CONFLICTING_FIELDS', message, remedy: 'Leave out spot or flexStart.' }, findings);
    return undefined;
  }
  if (flexStart?.value === true) {
    return { ...locationOf(flexStart), value: 'FLEX_START' };
  }
  return spot?.value === true ? { ...locationOf(spot), value: 'SPOT' } : undefined;
}
