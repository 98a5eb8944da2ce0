import {
  type Accelerator,
  findAccelerator,
  findMachineType,
  type Gpus,
  type Machine,
  type MachineType,
  readCatalog,
} from '#shared/catalog/catalog.ts';

/** A machine as a job file asks for it: by scale tier, or by a machine type of Compute Engine or AI Platform, with GPUs. */
export type MachineChoice =
  | { readonly scaleTier: string }
  | { readonly machineType: string; readonly accelerator: Gpus | null };

export type ResolvedMachine = {
  readonly machine: Machine;
  /** The same in Compute Engine's names, but with the GPUs that were asked for, whether built in, attached or retired. */
  readonly asked: { readonly machineType: string; readonly gpus: Gpus | null };
  /** Set when retired GPUs gave way to others. */
  readonly replaced: { readonly from: Gpus; readonly to: Gpus } | null;
};

/** Why there is no such machine; the names are those of Compute Engine. */
export type MachineRefusal =
  | { readonly reason: 'UNKNOWN_MACHINE_TYPE' | 'UNKNOWN_SCALE_TIER' | 'UNKNOWN_ACCELERATOR'; readonly name: string }
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

export type MachineResolution = ResolvedMachine | { readonly refusal: MachineRefusal };

/**
 * Finds the machine that a choice stands for. AI Platform's names and tiers give Compute Engine's, retired GPUs their
 * replacement; GPUs may only be attached to N1, in the counts and up to the sizes of Compute Engine's page "GPU machine types".
 */
export function resolveMachine(choice: MachineChoice): MachineResolution {
  const { legacyMachineTypes, scaleTiers } = readCatalog();
  if ('scaleTier' in choice) {
    const tier = scaleTiers.find(({ name }) => name === choice.scaleTier);
    return tier === undefined ? refuse({ reason: 'UNKNOWN_SCALE_TIER', name: choice.scaleTier }) : resolveNamed(tier);
  }
  const legacy = legacyMachineTypes.find(({ name }) => name === choice.machineType);
  if (legacy === undefined) {
    return resolveNamed(choice);
  }
  return choice.accelerator === null
    ? resolveNamed(legacy)
    : refuse({ reason: 'ACCELERATOR_ON_LEGACY_TYPE', means: legacy });
}

function resolveNamed({ machineType, accelerator }: Machine): MachineResolution {
  const type = findMachineType(machineType);
  if (type === undefined) {
    return refuse({ reason: 'UNKNOWN_MACHINE_TYPE', name: machineType });
  }
  if (accelerator === null) {
    return { machine: { machineType, accelerator }, asked: { machineType, gpus: type.gpu }, replaced: null };
  }
  const gpu = findAccelerator(accelerator.type);
  if (gpu === undefined) {
    return refuse({ reason: 'UNKNOWN_ACCELERATOR', name: accelerator.type });
  }
  const asked = { type: gpu.name, count: accelerator.count };
  return type.gpu === null ? attach(type, gpu, asked) : acceptBuiltIn(type, type.gpu, asked);
}

/** Vertex AI wants the GPUs of A2 and its like named; Compute Engine knows them from the machine type. */
function acceptBuiltIn({ name }: MachineType, builtIn: Gpus, asked: Gpus): MachineResolution {
  if (builtIn.type !== asked.type || builtIn.count !== asked.count) {
    return refuse({ reason: 'ACCELERATOR_BUILT_IN', builtIn });
  }
  return {
    machine: { machineType: name, accelerator: null },
    asked: { machineType: name, gpus: builtIn },
    replaced: null,
  };
}

function attach(type: MachineType, gpu: Accelerator, asked: Gpus): MachineResolution {
  if (!type.name.startsWith('n1-')) {
    return refuse({ reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' });
  }
  const to = replacementOf(gpu, asked.count);
  if (to === undefined) {
    const counts = Object.keys(gpu.replacement?.counts ?? {}).map(Number);
    return refuse({ reason: 'WRONG_ACCELERATOR_COUNT', accelerator: gpu.name, counts });
  }
  const refusal = checkAttachment(type, to ?? asked);
  if (refusal !== null) {
    return refuse(refusal);
  }
  return {
    machine: { machineType: type.name, accelerator: to ?? asked },
    asked: { machineType: type.name, gpus: asked },
    replaced: to === null ? null : { from: asked, to },
  };
}

/** Null where the GPU is still to be had, undefined where it never came in this count. */
function replacementOf({ replacement }: Accelerator, count: number): Gpus | null | undefined {
  if (replacement === null) {
    return null;
  }
  const countNow = replacement.counts[String(count)];
  return countNow === undefined ? undefined : { type: replacement.type, count: countNow };
}

function checkAttachment(type: MachineType, { type: accelerator, count }: Gpus): MachineRefusal | null {
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

function refuse(refusal: MachineRefusal): MachineResolution {
  return { refusal };
}
