import type { Role } from '#shared/domain/job-spec.ts';
import {
  EMPTY_DRAFT,
  EMPTY_PROGRAM,
  emptyPool,
  type JobDraft,
  type PoolDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { readSlots } from '#shared/job-file/fields/field.ts';
import { NONEMPTY_TEXT } from '#shared/job-file/fields/kind.ts';
import {
  ENCRYPTION_CONFIG,
  JOB,
  parentLookup,
  replicaConfigOf,
  SCHEDULING,
  TRAINING_INPUT,
} from '#shared/job-file/formats/ai-platform/fields.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import {
  type FieldRule,
  type Fields,
  openMapping,
  openOptional,
  toCamelCase,
} from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, readCount, readInteger, readText, readTextList } from '#shared/job-file/parser/read-values.ts';
import { HYPERPARAMETER_FIELDS } from '#shared/job-file/tuning/hyperparameter-spec-fields.ts';
import { readHyperparameterSpec } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';

/** The path of all pools: the fields of all roles are in one mapping. */
const PATH = 'trainingInput';

/** Whether a field at the top of a file identifies AI Platform's Job. */
export function isJobField(name: string): boolean {
  return Object.hasOwn(JOB.rules, name);
}

/** Whether a field belongs to TrainingInput; some files have those at the top. */
export function isTrainingInputField(name: string): boolean {
  return Object.hasOwn(TRAINING_INPUT.rules, name);
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
  const job = openMapping(root, JOB, findings);
  warnOfOutput(root, findings);
  const draft = readTrainingInput(job.trainingInput, findings);
  return readSlots(draft, { rules: JOB.rules, fields: job }, findings);
}

/** The output of `gcloud ai-platform jobs describe` can be submitted again. */
function warnOfOutput({ node, path }: FoundNode, findings: Findings): void {
  const rules: Readonly<Record<string, FieldRule>> = JOB.rules;
  const entries = node.kind === 'MAPPING' ? node.entries : [];
  const first = entries.map(({ key, line }) => ({ name: toCamelCase(key), line })).find(({ name }) => isOutput(name));
  if (first !== undefined) {
    findings.warnings.push({
      code: 'JOB_RESOURCE',
      message: 'The file is a job as the service returned it; its output fields are ignored.',
      remedy: `Keep jobId, labels and trainingInput, and remove ${first.name} and the other fields that the service sets.`,
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
  const draft = {
    ...EMPTY_DRAFT,
    pools: [readPool(input, 'master', findings), ...OTHER_ROLES.flatMap((role) => readOthers(input, role, findings))],
    study: readHyperparameterSpec(input.hyperparameters, parentLookup(), findings),
  };
  const messages = [
    { rules: TRAINING_INPUT.rules, fields: input },
    { rules: SCHEDULING.rules, fields: openOptional(input.scheduling, SCHEDULING, findings) },
    { rules: ENCRYPTION_CONFIG.rules, fields: openOptional(input.encryptionConfig, ENCRYPTION_CONFIG, findings) },
  ];
  return messages.reduce<JobDraft>((result, message) => readSlots(result, message, findings), draft);
}

type TrainingInput = Fields<(typeof TRAINING_INPUT)['rules']>;

const OTHER_ROLES = ['worker', 'ps', 'evaluator'] as const satisfies readonly Role[];

/** The pool of another role; none if it has no fields. */
function readOthers(
  input: TrainingInput,
  role: (typeof OTHER_ROLES)[number],
  findings: Findings,
): readonly PoolDraft[] {
  const pool = { ...readPool(input, role, findings), count: readCount(input[`${ROLE_PREFIXES[role]}Count`], findings) };
  return isPoolSet(pool) ? [pool] : [];
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
      imageUri: NONEMPTY_TEXT.read(config.imageUri, findings),
      command: readTextList(config.containerCommand, findings),
      containerArgs: readTextList(config.containerArgs, findings),
    },
  };
}
