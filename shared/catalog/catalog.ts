import * as z from 'zod';
import type { Architecture } from '#shared/domain/architecture.ts';
import { BOOT_DISK_TYPES } from '#shared/domain/job-spec.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import data from './machines.json' with { type: 'json' };

const gpusSchema = z.object({ type: z.string(), count: z.number().positive() });
const pricesShape = {
  /** US dollars per hour in `priceRegion`; null if unknown. */
  onDemandPerHourUsd: z.number().positive().nullable(),
  spotPerHourUsd: z.number().positive().nullable(),
};
const limitsShape = { vcpusMax: z.int().positive(), memoryGibMax: z.int().positive() };

const machineFamilySchema = z.object({
  /**
   * How the Cloud Billing Catalog begins the descriptions of the family's cores and memory (`N2 Instance Core running
   * in Americas`). Null if no price follows from them, as for machines with local SSD, which is billed separately.
   */
  skuPrefix: z.string().nullable(),
  /** The boot disk types that Compute Engine accepts, the default first ("About Google Cloud Hyperdisk"). */
  bootDisks: z.tuple([z.enum(BOOT_DISK_TYPES)], z.enum(BOOT_DISK_TYPES)),
  /** False if no machine image can be restored to the family (Compute Engine, "Machine images", restrictions). */
  bootsFromMachineImages: z.boolean(),
  /** Whether GPUs can be attached to its machines; other families have theirs built in. */
  attachesGpus: z.boolean(),
  /** The architecture that its processors run. */
  architecture: z.enum(['amd64', 'arm64']),
  /**
   * The policies that Compute Engine has for the family's VMs without GPUs when their host is maintained: TERMINATE
   * them or MIGRATE them live; MIGRATE_ONLY if it rejects TERMINATE ("Set the host maintenance policy", limitations).
   */
  hostMaintenance: z.enum(['MIGRATE', 'MIGRATE_ONLY', 'TERMINATE']),
  /** Vertex AI's price of custom training as a multiple of Compute Engine's. */
  vertexPremium: z.number().min(1),
});

const machineTypeSchema = z.object({
  name: z.string(),
  vcpus: z.int().positive(),
  memoryGib: z.number().positive(),
  /** Built-in GPUs, which cannot be detached. g4 has fractions of a GPU. */
  gpu: gpusSchema.nullable(),
  /** The key of an entry of `availability`. */
  availability: z.string(),
  /** Empty if the machine type is available by reservation only. */
  provisioningModels: z.array(z.enum(['STANDARD', 'SPOT', 'FLEX_START'])),
  ...pricesShape,
  flexStartPerHourUsd: z.number().positive().nullable(),
});

const attachRuleSchema = z.object({ count: z.int().positive(), ...limitsShape });

const acceleratorSchema = z.object({
  /** Compute Engine's name: `nvidia-tesla-t4`. */
  name: z.string(),
  label: z.string(),
  /** Like a family's. */
  skuPrefix: z.string().nullable(),
  memoryGibPerGpu: z.number().positive(),
  /** The replacement of a retired GPU: its type, and its number by the number of retired GPUs. */
  replacement: z.object({ type: z.string(), counts: z.record(z.string(), z.int().positive()) }).nullable(),
  ...pricesShape,
  /** The numbers of GPUs that an N1 machine may have, each with the largest machine; null for built-in GPUs. */
  attach: z.array(attachRuleSchema).nullable(),
  /** The zones in which it can be attached. */
  zones: z.array(z.string()),
});

const legacyMachineTypeSchema = z.object({
  name: z.string(),
  machineType: z.string(),
  accelerator: gpusSchema.nullable(),
});

const tpuMachineTypeSchema = z.object({
  name: z.string(),
  /** Null if the name stands for machines of several sizes. */
  vcpus: z.int().positive().nullable(),
  memoryGib: z.number().positive().nullable(),
  /** The TPUs of the machine if none are specified. */
  tpuDefault: gpusSchema.nullable(),
});

const scaleTierSchema = z.object({
  name: z.string(),
  groups: z.array(
    z.object({
      role: z.enum(ROLES),
      count: z.int().positive(),
      machineType: z.string(),
      accelerator: gpusSchema.nullable(),
    }),
  ),
});

/** The schema of `machines.json`, used for reading and writing it. */
export const catalogSchema = z.object({
  /** The date of the prices. */
  asOf: z.iso.date(),
  currency: z.literal('USD'),
  priceRegion: z.string(),
  sources: z.array(z.string()),
  notes: z.array(z.string()),
  /**
   * By the first part of a machine type (`n1`), or by its first two where they differ from the rest (`a2-ultragpu`).
   */
  families: z.record(z.string(), machineFamilySchema),
  regions: z.record(z.string(), z.array(z.string()).min(1)),
  availability: z.record(z.string(), z.array(z.string())),
  machineTypes: z.array(machineTypeSchema),
  /** How the names of machine types begin that Compute Engine has, but that are not in `machineTypes`. */
  notOffered: z.array(z.string()),
  accelerators: z.array(acceleratorSchema),
  legacyMachineTypes: z.array(legacyMachineTypeSchema),
  /** The enum names of AI Platform's and Vertex AI's APIs: `TPU_V2`. */
  tpus: z.array(z.string()),
  tpuMachineTypes: z.array(tpuMachineTypeSchema),
  scaleTiers: z.array(scaleTierSchema),
});

export type Catalog = z.infer<typeof catalogSchema>;
export type MachineFamily = z.infer<typeof machineFamilySchema>;
export type MachineType = z.infer<typeof machineTypeSchema>;
export type Accelerator = z.infer<typeof acceleratorSchema>;
export type TpuMachineType = z.infer<typeof tpuMachineTypeSchema>;
export type Gpus = z.infer<typeof gpusSchema>;

/** A machine type and, on N1, the attached GPUs. For TPU machine types, `accelerator` may be the TPUs. */
export type Machine = { readonly machineType: string; readonly accelerator: Gpus | null };

let parsed: Catalog | undefined;

/** The catalog of `machines.json`, parsed on first use, because not every command needs it. */
export function readCatalog(): Catalog {
  parsed ??= catalogSchema.parse(data);
  return parsed;
}

/** Whether Compute Engine has machines of this name, which cannot be chosen here: C4, for example, and local SSDs. */
export function isNotOffered(name: string): boolean {
  const { notOffered, machineTypes } = readCatalog();
  const withoutDisk = name.replace(/-lssd$/, '');
  return (
    notOffered.some((start) => name.startsWith(start)) ||
    (withoutDisk !== name && machineTypes.some((type) => type.name === withoutDisk))
  );
}

/** Finds a machine type of Compute Engine, except those of TPUs. */
export function findMachineType(name: string): MachineType | undefined {
  return readCatalog().machineTypes.find((type) => type.name === name);
}

/** The facts of a machine type's family; throws if `machines.json` has no such family. */
export function familyOf(machineType: string, catalog: Pick<Catalog, 'families'> = readCatalog()): MachineFamily {
  const family = findFamily(machineType, catalog);
  if (family === undefined) {
    throw new Error(`The machine type ${machineType} belongs to no family of machines.json; add its row there.`);
  }
  return family;
}

/** The family of a machine type that may not exist; undefined if `machines.json` has no such family. */
export function findFamily(
  machineType: string,
  { families }: Pick<Catalog, 'families'> = readCatalog(),
): MachineFamily | undefined {
  const [first = '', second = ''] = machineType.split('-');
  const name = Object.hasOwn(families, `${first}-${second}`) ? `${first}-${second}` : first;
  return Object.hasOwn(families, name) ? families[name] : undefined;
}

/** The architecture that the processors of a machine type run. Images of VMs and of containers must be built for it. */
export function architectureOf(machineType: string): Architecture {
  return familyOf(machineType).architecture;
}

/** The names of the families to whose machines GPUs can be attached. */
export function listFamiliesThatAttachGpus({ families }: Pick<Catalog, 'families'> = readCatalog()): readonly string[] {
  return Object.keys(families).filter((name) => families[name]?.attachesGpus);
}

/** Finds AI Platform's `cloud_tpu`, Vertex AI's `cloud-tpu`, or a TPU VM such as `ct5lp-hightpu-4t`. */
export function findTpuMachineType(name: string): TpuMachineType | undefined {
  return readCatalog().tpuMachineTypes.find((type) => type.name === name);
}

/** Finds a GPU by Compute Engine's name (`nvidia-tesla-t4`) or the API's enum name (`NVIDIA_TESLA_T4`). */
export function findAccelerator(name: string): Accelerator | undefined {
  const ownName = name.toLowerCase().replaceAll('_', '-');
  return readCatalog().accelerators.find((accelerator) => accelerator.name === ownName);
}

/** The API's name of a GPU in any spelling: `T4`, `NVIDIA_T4`, `A100-80GB`, `nvidia-l4`. */
export function findGpuEnum(text: string): string | undefined {
  const found = readCatalog().accelerators.find(({ name, label, memoryGibPerGpu: gib }) =>
    [name, label, `${label}-${gib}g`, `${label}-${gib}gb`].some((one) => withoutVendor(one) === withoutVendor(text)),
  );
  return found && toAcceleratorEnum(found.name);
}

function withoutVendor(name: string): string {
  const simple = name.toLowerCase().replaceAll(/[-_\s]/g, '');
  return simple.replace(/^(nvidia)?(tesla)?/, '');
}

/** The API's enum name of a TPU, `TPU_V2`, from any spelling; undefined if there is no such TPU. */
export function findTpu(name: string): string | undefined {
  const ownName = toAcceleratorEnum(name);
  return readCatalog().tpus.find((tpu) => tpu === ownName);
}

/** The API's enum name of a GPU: `NVIDIA_TESLA_T4`. */
export function toAcceleratorEnum(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

/** The replacement of GPUs: null if they are still available, undefined if they never came in this number. */
export function replacementOf({ replacement }: Accelerator, count: number): Gpus | null | undefined {
  if (replacement === null) {
    return null;
  }
  const countNow = replacement.counts[String(count)];
  return countNow === undefined ? undefined : { type: replacement.type, count: countNow };
}

/** The attached or built-in GPUs of one machine; null if it has none. */
export function gpusOf({ machineType, accelerator }: Machine): Gpus | null {
  return accelerator ?? findMachineType(machineType)?.gpu ?? null;
}

/** The devices in one machine: a fraction of a GPU is one. */
export function countGpus(machine: Machine): number {
  return Math.ceil(gpusOf(machine)?.count ?? 0);
}

export function isTpuMachine({ machineType }: Machine): boolean {
  return findTpuMachineType(machineType) !== undefined;
}

/** The machines of one role in a scale tier, unresolved: K80 GPUs, for example, are retired. */
export type ScaleTierGroup = Catalog['scaleTiers'][number]['groups'][number];

/**
 * The machines of an AI Platform scale tier, the master first (TrainingInput.scaleTier). Undefined for an unknown tier,
 * and for CUSTOM, whose machines are in the job file.
 */
export function resolveScaleTier(name: string): readonly ScaleTierGroup[] | undefined {
  return readCatalog().scaleTiers.find((tier) => tier.name === name)?.groups;
}
