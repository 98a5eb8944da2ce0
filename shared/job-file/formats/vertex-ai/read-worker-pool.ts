import { ROLES } from '#shared/domain/replica-name.ts';
import {
  emptyPool,
  type KeyedText,
  type PoolDraft,
  type ProgramDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { count, TEXT, textList, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { mapping, nested, property, type Row, readFields, type Table } from '#shared/job-file/fields/table.ts';
import { inAccelerator, inPool, inProgram, ofAccelerator, ofProgram } from '#shared/job-file/fields/targets.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type Fields, isSet, openMapping, READ } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, isNull, locationOfNode, readMappings, readText } from '#shared/job-file/parser/read-values.ts';

const inReservation = property<ReservationDraft>();

export const MACHINE_FIELDS = {
  machineType: inPool('machineType', TEXT),
  acceleratorType: ofAccelerator(inAccelerator('type', TEXT)),
  acceleratorCount: ofAccelerator(inAccelerator('count', count())),
  tpuTopology: inPool('tpuTopology', TEXT),
  reservationAffinity: inPool(
    'reservation',
    mapping<ReservationDraft>(
      {
        reservationAffinityType: inReservation('type', TEXT),
        key: inReservation('key', TEXT),
        values: inReservation('values', textList()),
      },
      () => ({ values: [] }),
    ),
  ),
  gpuPartitionSize: {
    use: 'UNSUPPORTED',
    because: 'GPUs are not partitioned',
    remedy: 'Remove it; choose a smaller GPU, such as NVIDIA_L4, or run several processes on one.',
  },
} as const satisfies Table<PoolDraft>;

export const DISK_FIELDS = {
  bootDiskType: inPool('bootDiskType', TEXT),
  bootDiskSizeGb: inPool('bootDiskGib', wholeNumber()),
} as const satisfies Table<PoolDraft>;

const ENVIRONMENT: Row<ProgramDraft> = {
  read: (program, found, findings) => ({
    ...program,
    environment: [...program.environment, ...readEnvironment(found, findings)],
  }),
};

export const CONTAINER_FIELDS = {
  imageUri: inProgram('imageUri', TEXT),
  command: inProgram('command', textList()),
  args: inProgram('containerArgs', textList()),
  env: ENVIRONMENT,
} as const satisfies Table<ProgramDraft>;

export const PACKAGE_FIELDS = {
  executorImageUri: inProgram('executorImageUri', TEXT),
  packageUris: inProgram('packageUris', textList()),
  pythonModule: inProgram('pythonModule', TEXT),
  args: inProgram('args', textList()),
  env: ENVIRONMENT,
} as const satisfies Table<ProgramDraft>;

const FILE_SYSTEMS = {
  use: 'UNSUPPORTED',
  because: 'file systems are not mounted into VMs',
  remedy: 'Remove it; store the data in Cloud Storage and pass its address in args.',
} as const;

export const POOL_FIELDS = {
  replicaCount: inPool('count', count()),
  machineSpec: nested<PoolDraft>(MACHINE_FIELDS),
  containerSpec: ofProgram(nested<ProgramDraft>(CONTAINER_FIELDS)),
  pythonPackageSpec: ofProgram(nested<ProgramDraft>(PACKAGE_FIELDS)),
  diskSpec: nested<PoolDraft>(DISK_FIELDS),
  nfsMounts: FILE_SYSTEMS,
  lustreMounts: FILE_SYSTEMS,
} as const satisfies Table<PoolDraft>;

/** env_var.proto: names are C identifiers. */
const VARIABLE_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** custom_job.proto, ContainerSpec.env and PythonPackageSpec.env. */
const VARIABLES_COUNT_MAX = 100;

/**
 * Reads `workerPoolSpecs`. The index of a pool determines its role: primary, workers, parameter servers, evaluators
 * (Vertex AI, "Distributed training"). A pool that is `{}` or null is absent.
 */
export function readWorkerPools(found: FoundNode | undefined, findings: Findings): readonly PoolDraft[] {
  const specs = readMappings(found, findings);
  const [fifth] = specs.slice(ROLES.length);
  if (fifth !== undefined) {
    findings.problems.push({
      code: 'TOO_MANY_POOLS',
      message: `There are ${specs.length} worker pools; a job has at most ${ROLES.length}.`,
      remedy: 'Keep the pools of the primary, the workers, the parameter servers and the evaluators, in this order.',
      ...locationOfNode(fifth),
    });
  }
  return ROLES.slice(0, specs.length).flatMap((role, index) => {
    const spec = specs[index];
    return spec === undefined ? [] : readWorkerPool(emptyPool(role, spec.path), spec, findings);
  });
}

function readWorkerPool(empty: PoolDraft, found: FoundNode, findings: Findings): PoolDraft {
  const isSkipped = isNull(found.node) || (found.node.kind === 'MAPPING' && found.node.entries.length === 0);
  if (isSkipped) {
    return empty;
  }
  const fields = openMapping(found, POOL_FIELDS, findings);
  if (found.node.kind === 'MAPPING') {
    checkOneProgram(found, fields, findings);
  }
  return readFields(fields, { table: POOL_FIELDS, target: empty }, findings);
}

/** The two are a oneof of WorkerPoolSpec. */
function checkOneProgram({ path, node }: FoundNode, fields: Fields<typeof POOL_FIELDS>, findings: Findings): void {
  const { containerSpec, pythonPackageSpec } = fields;
  const isContainer = isSet(containerSpec);
  if (isContainer !== isSet(pythonPackageSpec)) {
    return;
  }
  const message = isContainer
    ? `${path} has both a containerSpec and a pythonPackageSpec.`
    : `${path} has neither a containerSpec nor a pythonPackageSpec.`;
  const remedy = isContainer
    ? 'Remove one of them: a pool runs a container or a Python package.'
    : 'Specify one of them, or write {} for an absent pool.';
  const { line } = isContainer ? (pythonPackageSpec?.node ?? node) : node;
  findings.problems.push({ code: 'POOL_PROGRAM', message, remedy, path, line });
}

function readEnvironment(found: FoundNode | undefined, findings: Findings): readonly Located<KeyedText>[] {
  const items = readMappings(found, findings);
  if (found !== undefined && items.length > VARIABLES_COUNT_MAX) {
    findings.problems.push({
      ...invalidEnvironment(`${found.path} has ${items.length} variables; ${VARIABLES_COUNT_MAX} are allowed.`),
      remedy: 'Put the values into a file, and pass its address in args.',
      ...locationOfNode(found),
    });
  }
  const variables = items.flatMap((item) => readVariable(item, findings) ?? []);
  const names = new Set<string>();
  for (const variable of variables) {
    const { key } = variable.value;
    if (names.has(key)) {
      const text = invalidEnvironment(`The environment variable ${key} is set twice.`);
      findings.problems.push({ ...text, remedy: 'Remove one of the two.', ...locationOf(variable) });
    }
    names.add(key);
  }
  return variables;
}

function readVariable(found: FoundNode, findings: Findings): Located<KeyedText> | undefined {
  const fields = openMapping(found, { name: READ, value: READ }, findings);
  const name = readText(fields.name, findings);
  const text = readText(fields.value, findings);
  const location = locationOfNode(found);
  if (name === undefined) {
    const remedy = 'Write each variable as "- name: NAME" and, below it, "value: TEXT".';
    findings.problems.push({ ...invalidEnvironment(`${found.path} has no name.`), remedy, ...location });
    return undefined;
  }
  if (!VARIABLE_NAME_PATTERN.test(name.value)) {
    const description = invalidEnvironment(`"${name.value}" is not a valid environment variable name.`);
    reportInvalid(
      name,
      { ...description, remedy: 'Write a name of letters, digits and _ that does not start with a digit.' },
      findings,
    );
  }
  return { value: { key: name.value, text: text?.value ?? '' }, ...location };
}

function invalidEnvironment(message: string) {
  return { code: 'INVALID_ENVIRONMENT', message };
}
