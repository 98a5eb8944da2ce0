import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createVmAdmin, type VmAdmin } from '#infra/embedded/compute-engine/vms/admin.ts';
import { findCreateFailure, type VmProviderConfig } from '#infra/embedded/compute-engine/vms/admission.ts';
import { resume, start } from '#infra/embedded/compute-engine/vms/boot.ts';
import { createDiskGuard, type DiskUser } from '#infra/embedded/compute-engine/vms/disk-guard.ts';
import { openFaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import {
  type Fleet,
  findNamed,
  observeAll,
  occupancyOf,
  startPendingVms,
} from '#infra/embedded/compute-engine/vms/fleet.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import {
  createMachine,
  type InterruptionMethod,
  type Machine,
  type MachineContext,
  runInBackground,
} from '#infra/embedded/compute-engine/vms/machine.ts';
import { findInterpreter, truncateSerialPort } from '#infra/embedded/compute-engine/vms/process.ts';
import { NO_JOB, openVmTable, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { destroy, destroyWhenDue, endForFullDisk, observe } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { CreateOutcome, Vm, VmProvider, VmRequest, VmStatus } from '#shared/ports/vm-provider.ts';

export type ProcessVmProviderOptions = {
  readonly database: Database;
  /** Parent of the VMs' directories. */
  readonly directory: string;
  readonly clock: Clock;
  readonly config: VmProviderConfig;
  readonly identity: VmIdentityIssuer;
  /** The environment of this machine, the source of the VMs' settings for network, interpreters and Python packages. */
  readonly host: Environment;
  readonly googleApis: MachineContext['googleApis'];
  /** Called at least once for a VM that ended without having been deleted. */
  readonly onInterrupted: (vm: Vm, method: InterruptionMethod) => Promise<void>;
  /** Receives errors of background work. */
  readonly writeLog: (line: string) => void;
};

/** VMs as processes of this machine, with the operations that only an embedded cloud has. */
export type EmbeddedVmProvider = VmProvider &
  VmAdmin & {
    /** Terminates all VMs first, unless they are kept for the next start. */
    close(options: { readonly isKeepingVms: boolean }): Promise<void>;
  };

/** Interval for checking VMs for due work. */
const POLL_MS = 250;

/** How long `delete` waits beyond the stop grace period before it returns DELETING. */
const DELETE_RESPONSE_MS = 1_000;

/**
 * Opens the provider and recovers its VMs: running ones continue, with their metadata server on the same port; those
 * that have ended become TERMINATED; those whose `deleteAt` has passed are deleted.
 */
export async function openProcessVmProvider(options: ProcessVmProviderOptions): Promise<EmbeddedVmProvider> {
  const closing = new AbortController();
  const fleet = createFleet(options, closing.signal);
  await mkdir(options.directory, { recursive: true });
  await Promise.all(fleet.config.machineImages.map(({ name }) => fleet.findPython(name)));
  for (const record of fleet.table.readAll()) {
    fleet.machines.add(createMachine(fleet, record));
  }
  await Promise.all([...fleet.machines].map(resume));
  const polling = pollVms(fleet);

  return {
    create: (request) => create(fleet, request),
    findShortage: async (requests) => findShortage(fleet, requests),
    find: async (vm) => {
      const machine = findNamed(fleet, vm);
      return machine && vmOf(observe(machine));
    },
    delete: (vm) => remove(fleet, vm),
    list: async (query) =>
      observeAll(fleet)
        .map(vmOf)
        .filter(({ jobId }) => (query === undefined ? jobId !== NO_JOB : jobId === query.jobId)),
    ...createVmAdmin(fleet),
    async close({ isKeepingVms }) {
      if (closing.signal.aborted) {
        return;
      }
      const terminations = await Promise.allSettled(isKeepingVms ? [] : [...fleet.machines].map(destroy));
      closing.abort();
      await polling;
      await Promise.all([...fleet.machines].map(({ lastWork }) => lastWork));
      await Promise.all([...fleet.machines].map(({ server }) => server?.close()));
      const failed = terminations.find((termination) => termination.status === 'rejected');
      if (failed !== undefined) {
        throw new Error('Some VMs could not be terminated. The next start tries again.', { cause: failed.reason });
      }
    },
  };
}

function createFleet(options: ProcessVmProviderOptions, closing: AbortSignal): Fleet {
  const { database, directory, clock, config, identity, host, googleApis, onInterrupted, writeLog } = options;
  const machines = new Set<Machine>();
  const interpreters = new Map<string, string>();
  const disk = createDiskGuard({
    directory,
    writeLog,
    reserveBytes: config.diskReserveBytes,
    listUsers: () => [...machines].filter(({ record }) => record.status === 'RUNNING').map(toDiskUser),
    now: clock.now,
  });
  return {
    ...{ directory, clock, identity, host, googleApis, onInterrupted, writeLog, config, machines, closing, disk },
    table: openVmTable(database),
    stockouts: openFaultyZones(database, 'zone_stockouts'),
    onRemoved: (machine) => void machines.delete(machine),
    async findPython(machineImage) {
      const image = config.machineImages.find(({ name }) => name === machineImage);
      const found = interpreters.get(machineImage) ?? (image && (await findInterpreter(image.python, host)));
      if (found !== undefined) {
        interpreters.set(machineImage, found);
      }
      return found;
    },
  };
}

function toDiskUser(machine: Machine): DiskUser {
  const { directory, record } = machine;
  return { directory, name: record.request.vmName, end: () => endForFullDisk(machine) };
}

async function create(fleet: Fleet, request: VmRequest): Promise<CreateOutcome> {
  const python = await fleet.findPython(request.machineImage);
  const known = findNamed(fleet, request);
  if (known !== undefined) {
    return createExisting(known, request);
  }
  // No await from here to the insertion: two concurrent creations cannot use the same capacity.
  const failure = findCreateFailure(request, { ...occupancyOf(fleet), projectId: fleet.identity.projectId, python });
  if (failure?.cause.code === 'STOCKOUT' && request.capacityWaitSeconds !== null) {
    const waiting = insert(fleet, request, { status: 'PENDING', lifetimeSeconds: request.capacityWaitSeconds });
    return { outcome: 'PENDING', instanceId: waiting.record.instanceId };
  }
  if (failure !== undefined) {
    return { outcome: 'FAILED', failure };
  }
  const machine = insert(fleet, request, { status: 'STARTING', lifetimeSeconds: request.maxRunSeconds });
  await start(machine);
  return { outcome: 'CREATED', instanceId: machine.record.instanceId };
}

/** A cluster for which a zone has too little capacity is not created in part; a request that may wait is made. */
async function findShortage(fleet: Fleet, requests: readonly VmRequest[]): Promise<VmCreateFailure | undefined> {
  const missing = requests.filter((request) => findNamed(fleet, request) === undefined);
  const { identity } = fleet;
  for (const [index, request] of missing.entries()) {
    const python = await fleet.findPython(request.machineImage);
    const occupancy = occupancyOf(fleet);
    const occupiedZones = [...occupancy.occupiedZones, ...missing.slice(0, index).map(({ zone }) => zone)];
    const admission = { ...occupancy, occupiedZones, projectId: identity.projectId, python };
    const failure = request.capacityWaitSeconds === null ? findCreateFailure(request, admission) : undefined;
    if (failure !== undefined) {
      return failure;
    }
  }
  return undefined;
}

/** Inserts the record before the process is started: a crash in between is recovered by the next start. */
function insert(
  fleet: Fleet,
  request: VmRequest,
  { status, lifetimeSeconds }: { readonly status: VmStatus; readonly lifetimeSeconds: number },
): Machine {
  const createdAt = fleet.clock.now();
  const machine = createMachine(fleet, {
    request,
    instanceId: newInstanceId(),
    createdAt,
    status,
    leader: null,
    metadataPort: 0,
    deleteAt: createdAt + lifetimeSeconds * 1_000,
    isPreempted: false,
  });
  fleet.table.insert(machine.record);
  fleet.machines.add(machine);
  return machine;
}

/** Nineteen digits below 2^63, as in Compute Engine. */
function newInstanceId(): string {
  return String(10n ** 18n + (randomBytes(8).readBigUInt64BE() % (8n * 10n ** 18n)));
}

async function createExisting(machine: Machine, request: VmRequest): Promise<CreateOutcome> {
  await machine.lastWork;
  const { record, context } = machine;
  const { vmName, zone } = request;
  const isSame = (['jobId', 'attempt', 'role', 'index'] as const).every((key) => record.request[key] === request[key]);
  if (!isSame) {
    const message = `The resource 'projects/${context.identity.projectId}/zones/${zone}/instances/${vmName}' already exists.`;
    return { outcome: 'FAILED', failure: { cause: causeOf('CONFIGURATION_REFUSED', message), zonesAvailable: [] } };
  }
  if (record.status === 'STOPPING' || record.status === 'STARTING') {
    throw new Error(`VM ${vmName} in ${zone} is being removed. Create it again when it is gone.`);
  }
  return { outcome: record.status === 'PENDING' ? 'PENDING' : 'CREATED', instanceId: record.instanceId };
}

async function remove(
  fleet: Fleet,
  vm: { readonly vmName: string; readonly zone: string },
): Promise<'GONE' | 'DELETING'> {
  const machine = findNamed(fleet, vm);
  if (machine === undefined) {
    return 'GONE';
  }
  const settled = new AbortController();
  const timeout = delay(fleet.config.stopGraceMs + DELETE_RESPONSE_MS, 'DELETING' as const, { signal: settled.signal });
  const gone = destroy(machine).then(() => 'GONE' as const);
  try {
    return await Promise.race([gone, timeout]);
  } finally {
    timeout.catch(() => undefined);
    settled.abort();
  }
}

async function pollVms(fleet: Fleet): Promise<void> {
  const { closing, writeLog } = fleet;
  while (!closing.aborted) {
    try {
      await checkVms(fleet);
    } catch (error) {
      // A full disk, for example: the next round tries again.
      writeLog(`The VMs could not be checked: ${error instanceof Error ? error.message : String(error)}`);
    }
    await delay(POLL_MS, undefined, { signal: closing, ref: false }).catch(() => undefined);
  }
}

async function checkVms(fleet: Fleet): Promise<void> {
  await fleet.disk.check();
  if (fleet.closing.aborted) {
    return;
  }
  startPendingVms(fleet);
  for (const machine of fleet.machines) {
    destroyWhenDue(machine);
    runInBackground(machine, truncateSerialPort(machine.directory));
  }
}
