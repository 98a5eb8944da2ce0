import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import {
  type AcceleratorDraft,
  EMPTY_PROGRAM,
  type PoolDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { DISK, GPU, GROUP } from '#shared/job-file/formats/dropforge/fields.ts';
import { isBareCount, parseGpus, RESERVATIONS, toGpuEnum } from '#shared/job-file/formats/dropforge/values.ts';
import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type Fields, openMapping } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  isEmpty,
  readCount,
  readInteger,
  readText,
  readTextList,
  reportWrongKind,
} from '#shared/job-file/parser/read-values.ts';
import { toApiName } from '#shared/job-file/parser/short-names.ts';

/** Compute Engine's key of specific reservations (Vertex AI's ReservationAffinity). */
const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

type MachineFields = Pick<Fields<(typeof GROUP)['rules']>, 'machine' | 'gpu' | 'reservation'>;

type Machine = Pick<PoolDraft, 'machineType' | 'accelerator' | 'reservation'>;
type Disk = Pick<PoolDraft, 'bootDiskGib' | 'bootDiskType'>;

/** The first machine's fields, or those of a group that has machines of its own. */
export function readMachine({ machine, gpu, reservation }: MachineFields, findings: Findings): Machine {
  const accelerator = readGpus(gpu, findings);
  return {
    machineType: readText(machine, findings) ?? chooseMachine(accelerator),
    accelerator,
    reservation: readReservation(reservation, findings),
  };
}

function chooseMachine({ type, count }: AcceleratorDraft): Located<string> | undefined {
  const chosen =
    type === undefined || typeof count?.value !== 'number'
      ? undefined
      : machineForGpus({ type: type.value, count: count.value });
  return type && chosen !== undefined ? { ...type, value: chosen } : undefined;
}

function readGpus(found: FoundNode | undefined, findings: Findings): AcceleratorDraft {
  if (found?.node.kind === 'MAPPING') {
    const gpu = openMapping(found, GPU, findings);
    const type = readText(gpu.type, findings);
    const said = readCount(gpu.count, findings);
    return { type: type && { ...type, value: toGpuEnum(type.value) }, count: said ?? (type && { ...type, value: 1 }) };
  }
  if (found?.node.kind === 'LIST') {
    reportWrongKind(found, 'text such as 2 x T4, or a mapping of type and count', findings);
    return { type: undefined, count: undefined };
  }
  const text = readText(found, findings);
  if (text !== undefined && isBareCount(text.value)) {
    const message = `${text.path} names no GPU: "${text.value}".`;
    const remedy = 'Write which, such as T4 or 2 x T4; for a machine without GPUs leave it out.';
    reportInvalid(text, { code: 'GPU_NOT_NAMED', message, remedy }, findings);
    return { type: undefined, count: undefined };
  }
  const gpus = text && parseGpus(text.value);
  return { type: text && gpus && { ...text, value: gpus.type }, count: text && gpus && { ...text, value: gpus.count } };
}

/** One reservation's name may stand alone. */
function readReservation(found: FoundNode | undefined, findings: Findings): ReservationDraft | undefined {
  if (found?.node.kind === 'MAPPING') {
    reportWrongKind(found, 'any, none, or a list of reservations', findings);
    return undefined;
  }
  const text = found?.node.kind === 'SCALAR' ? readText(found, findings) : undefined;
  const word = text && toApiName(text.value, RESERVATIONS);
  if (text && word !== undefined) {
    return { type: { ...text, value: word }, key: undefined, values: [] };
  }
  const values = text ? [text] : found?.node.kind === 'LIST' ? readTextList(found, findings) : undefined;
  if (found === undefined || values === undefined) {
    return undefined;
  }
  const place = { path: found.path, line: found.node.line };
  return {
    type: { ...place, value: 'SPECIFIC_RESERVATION' },
    key: { ...place, value: RESERVATION_KEY },
    values,
  };
}

/** GiB alone, or a mapping of size and type. */
export function readDisk(found: FoundNode | undefined, findings: Findings): Disk {
  if (found?.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of GiB, or a mapping of size and type', findings);
    return { bootDiskGib: undefined, bootDiskType: undefined };
  }
  if (found?.node.kind !== 'MAPPING') {
    return { bootDiskGib: readInteger(found, findings), bootDiskType: undefined };
  }
  const disk = openMapping(found, DISK, findings);
  return { bootDiskGib: readInteger(disk.size, findings), bootDiskType: readText(disk.type, findings) };
}

/**
 * More machines: like the first one, but for what they say of themselves. Machine, GPU and reservation belong together:
 * a group that names a machine or a GPU takes none of them from the first one.
 */
export function readGroup(found: FoundNode | undefined, like: PoolDraft, findings: Findings): readonly PoolDraft[] {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return [];
  }
  const plain = { ...like, program: EMPTY_PROGRAM };
  if (found.node.kind === 'LIST') {
    reportWrongKind(found, 'a number of machines, or a mapping with a count', findings);
    return [];
  }
  if (found.node.kind === 'SCALAR') {
    const count = readCount(found, findings);
    return count === undefined ? [] : [{ ...plain, count }];
  }
  const group = openMapping(found, GROUP, findings);
  const own = readMachine(group, findings);
  const ownMachine = own.machineType ?? own.accelerator.type ?? own.accelerator.count;
  const machine = ownMachine !== undefined ? own : { reservation: own.reservation ?? like.reservation };
  const disk = readDisk(group.disk, findings);
  const ownDisk = disk.bootDiskGib ?? disk.bootDiskType;
  const count = readCount(group.count, findings) ?? { path: found.path, line: found.node.line, value: 1 };
  return [{ ...plain, ...machine, ...(ownDisk && disk), count }];
}
