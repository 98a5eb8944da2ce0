import { ROLES } from '#shared/domain/job-spec.ts';
import {
  emptyPool,
  type KeyedText,
  type PoolDraft,
  type ProgramDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import {
  CONTAINER_SPEC,
  DISK_SPEC,
  ENVIRONMENT_VARIABLE,
  MACHINE_SPEC,
  PYTHON_PACKAGE_SPEC,
  RESERVATION_AFFINITY,
  WORKER_POOL_SPEC,
} from '#shared/job-file/formats/vertex-ai/fields.ts';
import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type Fields, isSet, openMapping, openOptional } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  isNull,
  readCount,
  readInteger,
  readMappings,
  readText,
  readTextList,
} from '#shared/job-file/parser/read-values.ts';

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
      path: fifth.path,
      line: fifth.node.line,
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
  const pool = openMapping(found, WORKER_POOL_SPEC, findings);
  const machine = openOptional(pool.machineSpec, MACHINE_SPEC, findings);
  const disk = openOptional(pool.diskSpec, DISK_SPEC, findings);
  if (found.node.kind === 'MAPPING') {
    checkOneProgram(found, pool, findings);
  }
  return {
    ...empty,
    count: readCount(pool.replicaCount, findings),
    machineType: readText(machine.machineType, findings),
    accelerator: {
      type: readText(machine.acceleratorType, findings),
      count: readCount(machine.acceleratorCount, findings),
    },
    tpuTopology: readText(machine.tpuTopology, findings),
    bootDiskGib: readInteger(disk.bootDiskSizeGb, findings),
    bootDiskType: readText(disk.bootDiskType, findings),
    reservation: readReservation(machine.reservationAffinity, findings),
    program: readProgram(pool, findings),
  };
}

function readReservation(found: FoundNode | undefined, findings: Findings): ReservationDraft | undefined {
  const affinity = openOptional(found, RESERVATION_AFFINITY, findings);
  if (!isSet(found)) {
    return undefined;
  }
  return {
    type: readText(affinity.reservationAffinityType, findings),
    key: readText(affinity.key, findings),
    values: readTextList(affinity.values, findings) ?? [],
  };
}

type PoolFields = Fields<typeof WORKER_POOL_SPEC.rules>;

/** The two are a oneof of WorkerPoolSpec. */
function checkOneProgram({ path, node }: FoundNode, pool: PoolFields, findings: Findings): void {
  const { containerSpec, pythonPackageSpec } = pool;
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

function readProgram({ containerSpec, pythonPackageSpec }: PoolFields, findings: Findings): ProgramDraft {
  const container = openOptional(containerSpec, CONTAINER_SPEC, findings);
  const python = openOptional(pythonPackageSpec, PYTHON_PACKAGE_SPEC, findings);
  return {
    packageUris: readTextList(python.packageUris, findings),
    pythonModule: readText(python.pythonModule, findings),
    executorImageUri: readText(python.executorImageUri, findings),
    args: readTextList(python.args, findings),
    imageUri: readText(container.imageUri, findings),
    command: readTextList(container.command, findings),
    containerArgs: readTextList(container.args, findings),
    environment: [...readEnvironment(container.env, findings), ...readEnvironment(python.env, findings)],
  };
}

function readEnvironment(found: FoundNode | undefined, findings: Findings): readonly Located<KeyedText>[] {
  const items = readMappings(found, findings);
  if (found !== undefined && items.length > VARIABLES_COUNT_MAX) {
    findings.problems.push({
      ...invalidEnvironment(`${found.path} has ${items.length} variables; ${VARIABLES_COUNT_MAX} are allowed.`),
      remedy: 'Put the values into a file, and pass its address in args.',
      path: found.path,
      line: found.node.line,
    });
  }
  const variables = items.flatMap((item) => readVariable(item, findings) ?? []);
  const names = new Set<string>();
  for (const { value, path, line } of variables) {
    if (names.has(value.key)) {
      const location = line === undefined ? { path } : { path, line };
      const text = invalidEnvironment(`The environment variable ${value.key} is set twice.`);
      findings.problems.push({ ...text, remedy: 'Remove one of the two.', ...location });
    }
    names.add(value.key);
  }
  return variables;
}

function readVariable(found: FoundNode, findings: Findings): Located<KeyedText> | undefined {
  const fields = openMapping(found, ENVIRONMENT_VARIABLE, findings);
  const name = readText(fields.name, findings);
  const text = readText(fields.value, findings);
  const location = { path: found.path, line: found.node.line };
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
