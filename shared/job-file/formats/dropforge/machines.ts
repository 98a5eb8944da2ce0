import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import { BOOT_DISK_TYPES } from '#shared/domain/job-spec.ts';
import {
  type AcceleratorDraft,
  EMPTY_PROGRAM,
  emptyPool,
  type PoolDraft,
  RESERVATION_KEY,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { type Field, mappingSchema } from '#shared/job-file/fields/field.ts';
import { count, flag, type JsonSchema, type Kind, TEXT, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { type Row, readMapping } from '#shared/job-file/fields/table.ts';
import { inPool } from '#shared/job-file/fields/targets.ts';
import { GPUS } from '#shared/job-file/formats/dropforge/gpus.ts';
import { GROUP_PROGRAM_FIELDS } from '#shared/job-file/formats/dropforge/group-program.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import {
  type FoundNode,
  hasValue,
  locationOfNode,
  readCount,
  readGib,
  readText,
  readTextList,
  reportWrongKind,
} from '#shared/job-file/parser/read-values.ts';
import { type ShortNames, toApiName } from '#shared/job-file/parser/short-names.ts';

export const DISK_FIELDS = {
  size: {
    ...inPool('bootDiskGib', { ...wholeNumber({ minimum: 1, default: 100 }), read: readGib }),
    description: 'Size in GiB.',
    omitted: '100',
    synonyms: ['bootDiskSizeGb', 'sizeGb', 'diskSize'],
  },
  type: {
    ...inPool('bootDiskType', TEXT),
    description: "Compute Engine's disk type.",
    schema: { enum: BOOT_DISK_TYPES },
    omitted: '`pd-ssd`',
    synonyms: ['bootDiskType'],
  },
} as const satisfies Readonly<Record<string, Field & Row<PoolDraft>>>;

/** GiB alone, or a mapping of size and type. */
export const DISK = {
  type: 'integer, or `size` and `type`',
  schema: { $ref: '#/$defs/disk' },
  read: readDisk,
} as const;

function readDisk(pool: PoolDraft, found: FoundNode | undefined, findings: Findings): PoolDraft {
  if (found?.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of GiB, or a mapping of size and type', findings);
    return pool;
  }
  return found?.node.kind === 'MAPPING'
    ? readMapping(found, { table: DISK_FIELDS, target: pool }, findings)
    : { ...pool, bootDiskGib: readGib(found, findings) };
}

/** Every other reservation is a resource name. */
const RESERVATIONS = { any: 'ANY_RESERVATION', none: 'NO_RESERVATION' } as const satisfies ShortNames;

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
  const location = locationOfNode(found);
  return { type: { ...location, value: 'SPECIFIC_RESERVATION' }, key: { ...location, value: RESERVATION_KEY }, values };
}

/** The fields of `workers`, `parameterServers` and `evaluators`. */
export const GROUP_FIELDS = {
  count: {
    ...inPool('count', count({ minimum: 0, default: 1 })),
    description: 'The number of machines.',
    omitted: '1',
    synonyms: ['replicaCount'],
  },
  machine: {
    ...inPool('machineType', TEXT),
    description:
      'Their machine type. A group that sets machine or gpu takes neither of them, nor the reservation, from the first machine.',
    omitted: "the first machine's",
    examples: ['n1-highmem-8'],
    synonyms: ['machineType'],
  },
  gpu: {
    ...inPool('accelerator', GPUS),
    description: 'The GPUs of each machine.',
    omitted: "the first machine's",
    synonyms: ['acceleratorConfig', 'accelerators'],
  },
  disk: {
    ...DISK,
    description: 'Their boot disk.',
    omitted: "the first machine's",
    synonyms: ['diskConfig', 'diskSpec'],
  },
  reservation: {
    ...inPool('reservation', RESERVATION),
    description: 'The reserved capacity that they may use.',
    omitted: "the first machine's; none with `spot`",
  },
  spot: {
    ...inPool('spot', flag()),
    description: 'Whether they are Spot VMs; the first machine stays as the job says, such as on demand.',
    omitted: "the job's",
    examples: [true],
  },
  ...GROUP_PROGRAM_FIELDS,
} as const satisfies Readonly<Record<string, Field & Row<PoolDraft>>>;

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

/** Reads the machine type; if the field is absent, it is the smallest one for the GPUs. */
export function readMachine(pool: PoolDraft, found: FoundNode | undefined, findings: Findings): PoolDraft {
  return { ...pool, machineType: readText(found, findings) ?? machineTypeFor(pool.accelerator) };
}

/** The smallest machine type with the GPUs, if there are any. */
export function machineTypeFor({ type, count: number }: AcceleratorDraft): Located<string> | undefined {
  const value =
    type && typeof number?.value === 'number' ? machineForGpus({ type: type.value, count: number.value }) : undefined;
  return type && value !== undefined ? { ...type, value } : undefined;
}

/**
 * Further machines, like the first one except for their own fields, which may be a program. Machine, GPU and
 * reservation belong together: a group that sets machine or gpu takes none of the three from the first machine. Spot
 * VMs take no reservation from it, which they could not consume.
 */
export function readGroup(found: FoundNode | undefined, first: PoolDraft, findings: Findings): readonly PoolDraft[] {
  if (!hasValue(found, findings)) {
    return [];
  }
  if (found.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of machines, or a mapping with a count', findings);
    return [];
  }
  if (found.node.kind === 'SCALAR') {
    const number = readCount(found, findings);
    return number === undefined ? [] : [{ ...first, program: EMPTY_PROGRAM, count: number }];
  }
  const own = readMapping(found, { table: GROUP_FIELDS, target: emptyPool(first.role, first.path) }, findings);
  const machineType = own.machineType ?? machineTypeFor(own.accelerator);
  const hasOwnMachine = (machineType ?? own.accelerator.type ?? own.accelerator.count) !== undefined;
  const { accelerator, reservation, program, bootDiskGib, bootDiskType, spot } = own;
  const machine = hasOwnMachine
    ? { machineType, accelerator, reservation }
    : { reservation: reservation ?? (spot?.value === true ? undefined : first.reservation) };
  const hasOwnDisk = (bootDiskGib ?? bootDiskType) !== undefined;
  const number = own.count ?? { ...locationOfNode(found), value: 1 };
  const others = { ...(hasOwnDisk && { bootDiskGib, bootDiskType }), ...(spot && { spot }) };
  return [{ ...first, ...machine, ...others, program, count: number }];
}
