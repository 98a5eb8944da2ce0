import type { Role } from '#shared/domain/job-spec.ts';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type PoolDraft,
} from '#shared/job-file/draft/job-draft.ts';
import {
  ENCRYPTION_CONFIG,
  JOB,
  parentLookup,
  ROLE_PREFIXES,
  replicaConfigOf,
  SCHEDULING,
  TRAINING_INPUT,
} from '#shared/job-file/formats/ai-platform/fields.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import {
  type FieldRule,
  type Fields,
  openMapping,
  openOptional,
  toCamelCase,
} from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readCount,
  readInteger,
  readText,
  readTextList,
  readTextMap,
} from '#shared/job-file/parser/read-values.ts';
import { HYPERPARAMETER_FIELDS } from '#shared/job-file/tuning/hyperparameter-spec-fields.ts';
import { readHyperparameterSpec } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';

/** Where what is missing in a pool belongs: the fields of all roles are side by side. */
const PATH = 'trainingInput';

/** Whether a name at the top of a file speaks for AI Platform's Job. */
export function isJobField(name: string): boolean {
  return Object.hasOwn(JOB.rules, name);
}

/** Whether a name is one of TrainingInput's, which some files have at the top. */
export function isTrainingInputField(name: string): boolean {
  return Object.hasOwn(TRAINING_INPUT.rules, name);
}

/**
 * Whether a name is one of HyperparameterSpec's. A file with only those at the top is no job; read as one, each of them
 * is an unknown field that belongs under trainingInput.hyperparameters.
 */
export function isHyperparametersField(name: string): boolean {
  return Object.hasOwn(HYPERPARAMETER_FIELDS, name);
}

/**
 * Reads AI Platform's Job resource (`ml.googleapis.com` v1), all of its fields; what is wrong with its form goes to the
 * findings. The master's pool is always there and first; those of other roles are there where anything is said of them.
 */
export function readAiPlatformJob(root: FoundNode, findings: Findings): JobDraft {
  const job = openMapping(root, JOB, findings);
  warnOfOutput(root, findings);
  return {
    ...readTrainingInput(job.trainingInput, findings),
    jobId: readText(job.jobId, findings),
    labels: readTextMap(job.labels, findings),
  };
}

/** What `gcloud ai-platform jobs describe` prints can be submitted again. */
function warnOfOutput({ node, path }: FoundNode, findings: Findings): void {
  const rules: Readonly<Record<string, FieldRule>> = JOB.rules;
  const entries = node.kind === 'MAPPING' ? node.entries : [];
  const first = entries.map(({ key, line }) => ({ name: toCamelCase(key), line })).find(({ name }) => isOutput(name));
  if (first !== undefined) {
    findings.warnings.push({
      code: 'JOB_RESOURCE',
      message: 'The file is a job as the service returned it; its output fields are passed over.',
      remedy: `Keep jobId, labels and trainingInput, and remove ${first.name} and what else the service wrote.`,
      path: path === '' ? first.name : `${path}.${first.name}`,
      line: first.line,
    });
  }

  function isOutput(name: string): boolean {
    return Object.hasOwn(rules, name) && rules[name]?.use === 'OUTPUT';
  }
}

function readTrainingInput(found: FoundNode | undefined, findings: Findings): JobDraft {
  const input = openOptional(found, TRAINING_INPUT, findings);
  const scheduling = openOptional(input.scheduling, SCHEDULING, findings);
  return {
    ...EMPTY_DRAFT,
    scaleTier: readText(input.scaleTier, findings),
    pools: [readMaster(input, findings), ...OTHER_ROLES.flatMap((role) => readOthers(input, role, findings) ?? [])],
    study: readHyperparameterSpec(input.hyperparameters, parentLookup(), findings),
    region: readText(input.region, findings),
    jobDir: readText(input.jobDir, findings),
    runtimeVersion: readText(input.runtimeVersion, findings),
    pythonVersion: readText(input.pythonVersion, findings),
    maxRunningTime: readText(scheduling.maxRunningTime, findings),
    maxWaitTime: readText(scheduling.maxWaitTime, findings),
    strategy: readText(scheduling.strategy, findings),
    serviceAccount: readFilledText(input.serviceAccount, findings),
    network: readFilledText(input.network, findings),
    secrets: readTextMap(input.dropforgeSecrets, findings),
    kmsKeyName: readFilledText(openOptional(input.encryptionConfig, ENCRYPTION_CONFIG, findings).kmsKeyName, findings),
  };
}

type TrainingInput = Fields<(typeof TRAINING_INPUT)['rules']>;

const OTHER_ROLES = ['worker', 'ps', 'evaluator'] as const satisfies readonly Role[];

function readMaster(input: TrainingInput, findings: Findings): PoolDraft {
  const pool = readPool(input, 'master', findings);
  const program = {
    ...pool.program,
    packageUris: readTextList(input.packageUris, findings),
    pythonModule: readText(input.pythonModule, findings),
    args: readTextList(input.args, findings),
  };
  return { ...pool, program };
}

/** The replicas of another role; undefined where nothing is said of them. */
function readOthers(
  input: TrainingInput,
  role: (typeof OTHER_ROLES)[number],
  findings: Findings,
): PoolDraft | undefined {
  const pool = { ...readPool(input, role, findings), count: readCount(input[`${ROLE_PREFIXES[role]}Count`], findings) };
  return isPoolSet(pool) ? pool : undefined;
}

function isPoolSet({ count, machineType, accelerator, bootDiskGib, bootDiskType, program }: PoolDraft): boolean {
  const { imageUri, command, containerArgs } = program;
  const values = [count, machineType, ...Object.values(accelerator), bootDiskGib, bootDiskType];
  return [...values, imageUri, command, containerArgs].some((value) => value !== undefined);
}

function readPool(input: TrainingInput, role: Role, findings: Findings): PoolDraft {
  const prefix = ROLE_PREFIXES[role];
  const messages = replicaConfigOf(role);
  const config = openOptional(input[`${prefix}Config`], messages.config, findings);
  const accelerator = openOptional(config.acceleratorConfig, messages.accelerator, findings);
  const disk = openOptional(config.diskConfig, messages.disk, findings);
  return {
    ...emptyPool(role, PATH),
    machineType: readText(input[`${prefix}Type`], findings),
    accelerator: { type: readText(accelerator.type, findings), count: readCount(accelerator.count, findings) },
    bootDiskGib: readInteger(disk.bootDiskSizeGb, findings),
    bootDiskType: readText(disk.bootDiskType, findings),
    program: {
      ...EMPTY_PROGRAM,
      imageUri: readFilledText(config.imageUri, findings),
      command: readTextList(config.containerCommand, findings),
      containerArgs: readTextList(config.containerArgs, findings),
    },
  };
}

/** An empty text means the same as saying nothing, as in proto3. */
function readFilledText(found: FoundNode | undefined, findings: Findings): Located<string> | undefined {
  const text = readText(found, findings);
  return text?.value === '' ? undefined : text;
}
