import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import { BOOT_DISK_TYPES } from '#shared/domain/job-spec.ts';
import {
  type AcceleratorDraft,
  EMPTY_PROGRAM,
  masterOf,
  type PoolDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { type Field, mappingSchema, rulesOf, synonymsOf } from '#shared/job-file/fields/field.ts';
import { type JsonSchema, type Kind, TEXT_SCHEMA } from '#shared/job-file/fields/kind.ts';
import { type Slot, withMaster } from '#shared/job-file/fields/slot.ts';
import { gpus } from '#shared/job-file/formats/dropforge/gpus.ts';
import { GROUP_PROGRAM_FIELDS, readGroupProgram } from '#shared/job-file/formats/dropforge/group-program.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import { openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  isEmpty,
  readCount,
  readInteger,
  readText,
  readTextList,
  reportWrongKind,
} from '#shared/job-file/parser/read-values.ts';
import { type ShortNames, toApiName } from '#shared/job-file/parser/short-names.ts';

export const DISK_FIELDS = {
  size: {
    description: 'Size in GiB.',
    type: 'integer',
    schema: { type: 'integer', minimum: 1, default: 100 },
    omitted: '100',
    synonyms: ['bootDiskSizeGb', 'sizeGb', 'diskSize'],
  },
  type: {
    description: "Compute Engine's disk type.",
    type: 'text',
    schema: { enum: BOOT_DISK_TYPES },
    omitted: '`pd-ssd`',
    synonyms: ['bootDiskType'],
  },
} as const satisfies Readonly<Record<string, Field>>;

/** The fields of `workers`, `parameterServers` and `evaluators`. */
export const GROUP_FIELDS = {
  count: {
    description: 'The number of machines.',
    type: 'integer',
    schema: { type: 'integer', minimum: 0, default: 1 },
    omitted: '1',
    synonyms: ['replicaCount'],
  },
  machine: {
    description:
      'Their machine type. A group that sets machine or gpu takes neither of them, nor the reservation, from the first machine.',
    type: 'text',
    schema: TEXT_SCHEMA,
    omitted: "the first machine's",
    examples: ['n1-highmem-8'],
    synonyms: ['machineType'],
  },
  gpu: {
    description: 'The GPUs of each machine.',
    type: 'text, or `type` and `count`',
    schema: { $ref: '#/$defs/gpu' },
    omitted: "the first machine's",
    synonyms: ['acceleratorConfig', 'accelerators'],
  },
  disk: {
    description: 'Their boot disk.',
    type: 'integer, or `size` and `type`',
    schema: { $ref: '#/$defs/disk' },
    omitted: "the first machine's",
    synonyms: ['diskConfig', 'diskSpec'],
  },
  reservation: {
    description: 'The reserved capacity that they may use.',
    type: 'text or list of texts',
    schema: { $ref: '#/$defs/reservation' },
    omitted: "the first machine's",
  },
  ...GROUP_PROGRAM_FIELDS,
} as const satisfies Readonly<Record<string, Field>>;

const DISK_MESSAGE = { rules: rulesOf(DISK_FIELDS), synonyms: synonymsOf(DISK_FIELDS) };
const GROUP_MESSAGE = { rules: rulesOf(GROUP_FIELDS), synonyms: synonymsOf(GROUP_FIELDS) };

export function machineSchemas(): JsonSchema {
  return {
    group: { anyOf: [{ type: 'integer', minimum: 0 }, mappingSchema(GROUP_FIELDS)] },
    disk: { anyOf: [{ type: 'integer', minimum: 1, examples: [200] }, mappingSchema(DISK_FIELDS)] },
    reservation: {
      anyOf: [
        { enum: Object.keys(RESERVATIONS) },
        { type: 'string', examples: ['projects/my-project/zones/europe-west4-a/reservations/gpus'] },
        { type: 'array', minItems: 1, items: { type: 'string' } },
      ],
    },
  };
}

type Disk = Pick<PoolDraft, 'bootDiskGib' | 'bootDiskType'>;

/** The master's boot disk. */
export const MASTER_DISK: Slot<Disk> = { get: masterOf, set: withMaster };

/** GiB alone, or a mapping of size and type. */
export function disk(parentOf: ParentLookup): Kind<Disk> {
  return {
    type: 'integer, or `size` and `type`',
    schema: { $ref: '#/$defs/disk' },
    read: (found, findings) => readDisk(found, parentOf, findings),
  };
}

function readDisk(found: FoundNode | undefined, parentOf: ParentLookup, findings: Findings): Disk {
  if (found?.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of GiB, or a mapping of size and type', findings);
    return {};
  }
  if (found?.node.kind !== 'MAPPING') {
    return { bootDiskGib: readInteger(found, findings) };
  }
  const fields = openMapping(found, { ...DISK_MESSAGE, parentOf }, findings);
  return { bootDiskGib: readInteger(fields.size, findings), bootDiskType: readText(fields.type, findings) };
}

/** Every other reservation is a resource name. */
const RESERVATIONS = { any: 'ANY_RESERVATION', none: 'NO_RESERVATION' } as const satisfies ShortNames;

/** Compute Engine's key of specific reservations (Vertex AI's ReservationAffinity). */
const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/** `any`, `none`, a reservation's name, or a list of names. */
export const RESERVATION: Kind<ReservationDraft | undefined> = {
  type: '`any`, `none`, text or list of texts',
  schema: { $ref: '#/$defs/reservation' },
  read: readReservation,
};

function readReservation(found: FoundNode | undefined, findings: Findings): ReservationDraft | undefined {
  if (found?.node.kind === 'MAPPING') {
    reportWrongKind(found, 'any, none, or a list of reservations', findings);
    return undefined;
  }
  const text = found?.node.kind === 'SCALAR' ? readText(found, findings) : undefined;
  const apiName = text && toApiName(text.value, RESERVATIONS);
  if (text && apiName !== undefined) {
    return { type: { ...text, value: apiName }, values: [] };
  }
  const values = text ? [text] : found?.node.kind === 'LIST' ? readTextList(found, findings) : undefined;
  if (found === undefined || values === undefined) {
    return undefined;
  }
  const location = { path: found.path, line: found.node.line };
  return { type: { ...location, value: 'SPECIFIC_RESERVATION' }, key: { ...location, value: RESERVATION_KEY }, values };
}

/** The machine type; if the field is absent, the smallest one for the GPUs, if there are any. */
export function readMachineType(
  found: FoundNode | undefined,
  accelerator: AcceleratorDraft,
  findings: Findings,
): Located<string> | undefined {
  const machineType = machineTypeFor(accelerator);
  return (
    readText(found, findings) ??
    (accelerator.type && machineType !== undefined ? { ...accelerator.type, value: machineType } : undefined)
  );
}

function machineTypeFor({ type, count }: AcceleratorDraft): string | undefined {
  return type && typeof count?.value === 'number'
    ? machineForGpus({ type: type.value, count: count.value })
    : undefined;
}

/**
 * Further machines, like the first one except for their own fields, which may be a program. Machine, GPU and
 * reservation belong together: a group that sets machine or gpu takes none of the three from the first machine.
 */
export function readGroup(
  found: FoundNode | undefined,
  { first, parentOf }: { readonly first: PoolDraft; readonly parentOf: ParentLookup },
  findings: Findings,
): readonly PoolDraft[] {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return [];
  }
  const pool = { ...first, program: EMPTY_PROGRAM };
  if (found.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of machines, or a mapping with a count', findings);
    return [];
  }
  if (found.node.kind === 'SCALAR') {
    const count = readCount(found, findings);
    return count === undefined ? [] : [{ ...pool, count }];
  }
  const group = openMapping(found, { ...GROUP_MESSAGE, parentOf }, findings);
  const accelerator = gpus(parentOf).read(group.gpu, findings);
  const machineType = readMachineType(group.machine, accelerator, findings);
  const reservation = readReservation(group.reservation, findings);
  const hasOwnMachine = (machineType ?? accelerator.type ?? accelerator.count) !== undefined;
  const machine = hasOwnMachine
    ? { machineType, accelerator, reservation }
    : { reservation: reservation ?? first.reservation };
  const ownDisk = readDisk(group.disk, parentOf, findings);
  const hasOwnDisk = (ownDisk.bootDiskGib ?? ownDisk.bootDiskType) !== undefined;
  const count = readCount(group.count, findings) ?? { path: found.path, line: found.node.line, value: 1 };
  const program = readGroupProgram(group, findings);
  return [{ ...pool, ...machine, ...(hasOwnDisk && ownDisk), program, count }];
}
