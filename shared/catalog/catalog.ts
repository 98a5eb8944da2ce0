import { z } from 'zod';
import { ROLES } from '#shared/domain/job-spec.ts';
import data from './machines.json' with { type: 'json' };

const gpusSchema = z.object({ type: z.string(), count: z.number().positive() });
const pricesShape = {
  /** US dollars an hour in `priceRegion`; null where the price is not known. */
  onDemandPerHourUsd: z.number().positive().nullable(),
  spotPerHourUsd: z.number().positive().nullable(),
};
const limitsShape = { vcpusMax: z.int().positive(), memoryGibMax: z.int().positive() };

const machineTypeSchema = z.object({
  name: z.string(),
  vcpus: z.int().positive(),
  memoryGib: z.number().positive(),
  /** What is built in: it is not attached and cannot be left out. g4 has fractions of a GPU. */
  gpu: gpusSchema.nullable(),
  /** Names an entry of `availability`. */
  availability: z.string(),
  /** Empty where only a reservation gives the machine. */
  provisioningModels: z.array(z.enum(['STANDARD', 'SPOT', 'FLEX_START'])),
  ...pricesShape,
  flexStartPerHourUsd: z.number().positive().nullable(),
});

const attachRuleSchema = z.object({
  count: z.int().positive(),
  ...limitsShape,
  exceptions: z.array(z.object({ zone: z.string(), ...limitsShape })),
});

const acceleratorSchema = z.object({
  /** As Compute Engine spells it: `nvidia-tesla-t4`. */
  name: z.string(),
  label: z.string(),
  memoryGibPerGpu: z.number().positive(),
  /** What takes the place of a GPU that is no longer to be had, and how many for how many. */
  replacement: z.object({ type: z.string(), counts: z.record(z.string(), z.int().positive()) }).nullable(),
  ...pricesShape,
  /** The counts that an N1 machine may have and the largest machine for each; null for GPUs that are built in. */
  attach: z.array(attachRuleSchema).nullable(),
  /** Where it can be attached. */
  zones: z.array(z.string()),
});

const legacyMachineTypeSchema = z.object({
  name: z.string(),
  machineType: z.string(),
  accelerator: gpusSchema.nullable(),
});

const tpuMachineTypeSchema = z.object({
  name: z.string(),
  /** Null where the name stands for machines of several sizes. */
  vcpus: z.int().positive().nullable(),
  memoryGib: z.number().positive().nullable(),
  /** The TPUs that it has when none are named. */
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

/** What `machines.json` is; whoever rewrites that file checks what it writes by this. */
export const catalogSchema = z.object({
  /** The day of the prices. */
  asOf: z.iso.date(),
  currency: z.literal('USD'),
  priceRegion: z.string(),
  sources: z.array(z.string()),
  notes: z.array(z.string()),
  vertexPremium: z.object({ default: z.number().min(1), a2: z.number().min(1), note: z.string() }),
  regions: z.record(z.string(), z.array(z.string()).min(1)),
  availability: z.record(z.string(), z.array(z.string())),
  machineTypes: z.array(machineTypeSchema),
  accelerators: z.array(acceleratorSchema),
  legacyMachineTypes: z.array(legacyMachineTypeSchema),
  /** As the APIs of AI Platform and Vertex AI spell them: `TPU_V2`. */
  tpus: z.array(z.string()),
  tpuMachineTypes: z.array(tpuMachineTypeSchema),
  scaleTiers: z.array(scaleTierSchema),
});

export type Catalog = z.infer<typeof catalogSchema>;
export type MachineType = z.infer<typeof machineTypeSchema>;
export type Accelerator = z.infer<typeof acceleratorSchema>;
export type TpuMachineType = z.infer<typeof tpuMachineTypeSchema>;
export type Gpus = z.infer<typeof gpusSchema>;

/** What a VM is made of: a machine type and, on N1, the GPUs attached to it. TPU machine types may name their TPUs. */
export type Machine = { readonly machineType: string; readonly accelerator: Gpus | null };

let parsed: Catalog | undefined;

/** What Compute Engine has, by `machines.json`; checked when it is first asked for, because not every command asks. */
export function readCatalog(): Catalog {
  parsed ??= catalogSchema.parse(data);
  return parsed;
}

/** A machine type of Compute Engine that a VM can be made with; those of TPUs are not among them. */
export function findMachineType(name: string): MachineType | undefined {
  return readCatalog().machineTypes.find((type) => type.name === name);
}

/** AI Platform's `cloud_tpu`, Vertex AI's `cloud-tpu`, or a TPU VM such as `ct5lp-hightpu-4t`. */
export function findTpuMachineType(name: string): TpuMachineType | undefined {
  return readCatalog().tpuMachineTypes.find((type) => type.name === name);
}

/** Finds a GPU by Compute Engine's name (`nvidia-tesla-t4`) or the API's (`NVIDIA_TESLA_T4`). */
export function findAccelerator(name: string): Accelerator | undefined {
  const ownName = name.toLowerCase().replaceAll('_', '-');
  return readCatalog().accelerators.find((accelerator) => accelerator.name === ownName);
}

/** The API's spelling of a TPU's name, `TPU_V2`, from any spelling; undefined where there is no such TPU. */
export function findTpu(name: string): string | undefined {
  const ownName = toAcceleratorEnum(name);
  return readCatalog().tpus.find((tpu) => tpu === ownName);
}

/** The API's spelling of a GPU's name: `NVIDIA_TESLA_T4`. */
export function toAcceleratorEnum(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}
