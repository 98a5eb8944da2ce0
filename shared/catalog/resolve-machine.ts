import {
  type Accelerator,
  familyOf,
  findAccelerator,
  findMachineType,
  findTpu,
  findTpuMachineType,
  type Gpus,
  isNotOffered,
  type Machine,
  type MachineType,
  readCatalog,
  replacementOf,
  type TpuMachineType,
} from '#shared/catalog/catalog.ts';

export type ResolvedMachine = {
  readonly machine: Machine;
  /**
   * Compute Engine's machine type with the requested GPUs, including built-in and retired ones; for TPU machines the
   * given TPUs, or the default of the machine type.
   */
  readonly requested: { readonly machineType: string; readonly gpus: Gpus | null };
  /** Set if retired GPUs were replaced. */
  readonly replaced: { readonly from: Gpus; readonly to: Gpus } | null;
  /** Whether it is a TPU machine, which keeps its name, and whose zones and prices are unknown. */
  readonly isTpu: boolean;
};

/** Why a machine cannot be chosen. Names are Compute Engine's, and the API's enum names for TPUs. */
export type MachineRejection =
  | {
      readonly reason: 'UNKNOWN_MACHINE_TYPE' | 'MACHINE_TYPE_NOT_OFFERED' | 'UNKNOWN_ACCELERATOR';
      readonly name: string;
    }
  | { readonly reason: 'ACCELERATOR_ON_LEGACY_TYPE'; readonly means: Machine }
  | {
      readonly reason: 'ACCELERATOR_NOT_ATTACHABLE';
      readonly accelerator: string;
      readonly builtInTo: readonly string[];
    }
  | { readonly reason: 'ACCELERATOR_BUILT_IN'; readonly builtIn: Gpus }
  | { readonly reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' }
  | { readonly reason: 'WRONG_ACCELERATOR_COUNT'; readonly accelerator: string; readonly counts: readonly number[] }
  | {
      readonly reason: 'MACHINE_TYPE_TOO_LARGE';
      readonly vcpusMax: number;
      readonly memoryGibMax: number;
      readonly countMin: number | null;
    };

export type MachineResolution = ResolvedMachine | { readonly rejection: MachineRejection };

/**
 * Resolves a machine as a job file has it, with GPUs in any spelling. Maps AI Platform's names to Compute Engine's, and retired GPUs to their
 * replacement. GPUs can be attached to N1 only, within the limits of Compute Engine's page "GPU machine types".
 */
export function resolveMachine({ machineType, accelerator }: Machine): MachineResolution {
  const tpuType = findTpuMachineType(machineType);
  if (tpuType !== undefined) {
    return resolveTpu(tpuType, accelerator);
  }
  const legacy = findLegacy(machineType);
  if (legacy === undefined) {
    return resolveNamed({ machineType, accelerator });
  }
  return accelerator === null ? resolveNamed(legacy) : reject({ reason: 'ACCELERATOR_ON_LEGACY_TYPE', means: legacy });
}

/**
 * Whether this is one of AI Platform's machine types, such as `complex_model_m`, which a job may not combine with
 * Compute Engine's (TrainingInput.workerType). `cloud_tpu` is neither.
 */
export function isLegacyMachineType(name: string): boolean {
  return findLegacy(name) !== undefined;
}

function findLegacy(name: string): Machine | undefined {
  const legacy = readCatalog().legacyMachineTypes.find((type) => type.name === name);
  return legacy && { machineType: legacy.machineType, accelerator: legacy.accelerator };
}

function resolveTpu({ name, tpuDefault }: TpuMachineType, accelerator: Gpus | null): MachineResolution {
  const type = accelerator === null ? undefined : findTpu(accelerator.type);
  if (accelerator !== null && type === undefined) {
    return reject(
      findAccelerator(accelerator.type) === undefined
        ? { reason: 'UNKNOWN_ACCELERATOR', name: accelerator.type }
        : { reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' },
    );
  }
  const gpus = accelerator === null || type === undefined ? tpuDefault : { type, count: accelerator.count };
  return {
    machine: { machineType: name, accelerator: gpus },
    requested: { machineType: name, gpus },
    replaced: null,
    isTpu: true,
  };
}

function resolveNamed({ machineType, accelerator }: Machine): MachineResolution {
  const type = findMachineType(machineType);
  if (type === undefined) {
    const reason = isNotOffered(machineType) ? 'MACHINE_TYPE_NOT_OFFERED' : 'UNKNOWN_MACHINE_TYPE';
    return reject({ reason, name: machineType });
  }
  if (accelerator === null) {
    return resolved({ machineType, accelerator }, type.gpu);
  }
  const tpu = findTpu(accelerator.type);
  if (tpu !== undefined) {
    const builtInTo = readCatalog().tpuMachineTypes.map(({ name }) => name);
    return reject({ reason: 'ACCELERATOR_NOT_ATTACHABLE', accelerator: tpu, builtInTo });
  }
  const gpu = findAccelerator(accelerator.type);
  if (gpu === undefined) {
    return reject({ reason: 'UNKNOWN_ACCELERATOR', name: accelerator.type });
  }
  const requested = { type: gpu.name, count: accelerator.count };
  return type.gpu === null ? attach(type, gpu, requested) : acceptBuiltIn(type, type.gpu, requested);
}

/** Vertex AI requires built-in GPUs, such as those of A2, to be specified; for Compute Engine the type implies them. */
function acceptBuiltIn({ name }: MachineType, builtIn: Gpus, requested: Gpus): MachineResolution {
  if (builtIn.type !== requested.type || builtIn.count !== requested.count) {
    return reject({ reason: 'ACCELERATOR_BUILT_IN', builtIn });
  }
  return resolved({ machineType: name, accelerator: null }, builtIn);
}

function attach(type: MachineType, gpu: Accelerator, requested: Gpus): MachineResolution {
  if (!familyOf(type.name).attachesGpus) {
    return reject({ reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' });
  }
  const to = replacementOf(gpu, requested.count);
  if (to === undefined) {
    const counts = Object.keys(gpu.replacement?.counts ?? {}).map(Number);
    return reject({ reason: 'WRONG_ACCELERATOR_COUNT', accelerator: gpu.name, counts });
  }
  const rejection = checkAttachment(type, to ?? requested);
  if (rejection !== null) {
    return reject(rejection);
  }
  const machine = resolved({ machineType: type.name, accelerator: to ?? requested }, requested);
  return to === null ? machine : { ...machine, replaced: { from: requested, to } };
}

function checkAttachment(type: MachineType, { type: accelerator, count }: Gpus): MachineRejection | null {
  const rules = findAccelerator(accelerator)?.attach ?? null;
  if (rules === null) {
    const builtInTo = readCatalog().machineTypes.filter(({ gpu }) => gpu?.type === accelerator);
    return { reason: 'ACCELERATOR_NOT_ATTACHABLE', accelerator, builtInTo: builtInTo.map(({ name }) => name) };
  }
  const rule = rules.find((candidate) => candidate.count === count);
  if (rule === undefined) {
    return { reason: 'WRONG_ACCELERATOR_COUNT', accelerator, counts: rules.map((candidate) => candidate.count) };
  }
  if (type.vcpus <= rule.vcpusMax && type.memoryGib <= rule.memoryGibMax) {
    return null;
  }
  const fitting = rules.find(({ vcpusMax, memoryGibMax }) => type.vcpus <= vcpusMax && type.memoryGib <= memoryGibMax);
  const { vcpusMax, memoryGibMax } = rule;
  return { reason: 'MACHINE_TYPE_TOO_LARGE', vcpusMax, memoryGibMax, countMin: fitting?.count ?? null };
}

function reject(rejection: MachineRejection): MachineResolution {
  return { rejection };
}

function resolved(machine: Machine, gpus: Gpus | null): ResolvedMachine {
  return { machine, requested: { machineType: machine.machineType, gpus }, replaced: null, isTpu: false };
}
