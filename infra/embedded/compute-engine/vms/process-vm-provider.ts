import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createVmAdmin, type VmAdmin } from '#infra/embedded/compute-engine/vms/admin.ts';
import {
  refusalOf,
  VM_PROVIDER_DEFAULTS,
  type VmProviderConfig,
} from '#infra/embedded/compute-engine/vms/admission.ts';
import { resume, start } from '#infra/embedded/compute-engine/vms/boot.ts';
import type { Environment } from '#infra/embedded/compute-engine/vms/environment.ts';
import {
  type Fleet,
  findNamed,
  observeAll,
  occupancyOf,
  startWaiting,
} from '#infra/embedded/compute-engine/vms/fleet.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import {
  createMachine,
  type InterruptionMethod,
  inBackground,
  type Machine,
} from '#infra/embedded/compute-engine/vms/machine.ts';
import { boundSerialPort, findInterpreter } from '#infra/embedded/compute-engine/vms/process.ts';
import { NO_JOB, openVmTable, vmOf } from '#infra/embedded/compute-engine/vms/table.ts';
import { destroy, endWhenDue, observe } from '#infra/embedded/compute-engine/vms/termination.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { causeOf } from '#shared/domain/cause.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { CreateOutcome, Vm, VmProvider, VmRequest, VmStatus } from '#shared/ports/vm-provider.ts';

export type ProcessVmProviderOptions = {
  readonly database: Database;
  /** Where every VM gets a directory of its own. */
  readonly directory: string;
  readonly clock: Clock;
  readonly config: Pick<VmProviderConfig, 'zones' | 'machineImages'> & Partial<VmProviderConfig>;
  readonly identity: VmIdentityIssuer;
  /** The environment of this machine: the way to the network, to interpreters and to Python packages is taken from it. */
  readonly host: Environment;
  /** Told at least once when a VM ends without having been deleted. */
  readonly onInterrupted: (vm: Vm, method: InterruptionMethod) => Promise<void>;
  /** For what fails while nobody waits for it. */
  readonly writeLog: (line: string) => void;
};

/** VMs as processes of this machine, with what only an embedded cloud can do to them. */
export type EmbeddedVmProvider = VmProvider &
  VmAdmin & {
    /** Ends all VMs first unless they are to be kept for the next start. */
    close(options: { readonly isKeepingVms: boolean }): Promise<void>;
  };

/** How often VMs are looked at that have not said anything by themselves. */
const TICK_MS = 250;

/** How long `delete` waits beyond the grace for a VM to be gone, before it answers DELETING. */
const DELETE_ANSWER_MS = 1_000;

/**
 * Opens the provider and finds its VMs again: those that live go on with the metadata server they know, those that have
 * ended meanwhile are TERMINATED, those whose time has passed are deleted.
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
  const ticking = keepTicking(fleet);

  return {
    create: (request) => create(fleet, request),
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
      const endings = await Promise.allSettled(isKeepingVms ? [] : [...fleet.machines].map(destroy));
      closing.abort();
      await ticking;
      await Promise.all([...fleet.machines].map(({ tail }) => tail));
      await Promise.all([...fleet.machines].map(({ server }) => server?.close()));
      const failed = endings.find((ending) => ending.status === 'rejected');
      if (failed !== undefined) {
        throw new Error('Not every VM could be ended. The next start tries again.', { cause: failed.reason });
      }
    },
  };
}

function createFleet(options: ProcessVmProviderOptions, closing: AbortSignal): Fleet {
  const { database, directory, clock, identity, host, onInterrupted, writeLog } = options;
  const config = { ...VM_PROVIDER_DEFAULTS, ...options.config };
  const machines = new Set<Machine>();
  const interpreters = new Map<string, string>();
  return {
    ...{ directory, clock, identity, host, onInterrupted, writeLog, config, machines, closing },
    table: openVmTable(database),
    onGone: (machine) => void machines.delete(machine),
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

async function create(fleet: Fleet, request: VmRequest): Promise<CreateOutcome> {
  const python = await fleet.findPython(request.machineImage);
  const known = findNamed(fleet, request);
  if (known !== undefined) {
    return meetAgain(known, request);
  }
  // From here to the insertion nothing is waited for: two creations at once cannot take the same place.
  const failure = refusalOf(request, { ...occupancyOf(fleet), projectId: fleet.identity.projectId, python });
  if (failure?.cause.code === 'STOCKOUT' && request.capacityWaitSeconds !== null) {
    const waiting = insert(fleet, request, { status: 'PENDING', lifeSeconds: request.capacityWaitSeconds });
    return { outcome: 'PENDING', instanceId: waiting.record.instanceId };
  }
  if (failure !== undefined) {
    return { outcome: 'FAILED', failure };
  }
  const machine = insert(fleet, request, { status: 'STARTING', lifeSeconds: request.maxRunSeconds });
  await start(machine);
  return { outcome: 'CREATED', instanceId: machine.record.instanceId };
}

/** The row is there before the process: whatever dies in between is found by the next start. */
function insert(
  fleet: Fleet,
  request: VmRequest,
  { status, lifeSeconds }: { readonly status: VmStatus; readonly lifeSeconds: number },
): Machine {
  const createdAt = fleet.clock.now();
  const machine = createMachine(fleet, {
    request,
    instanceId: newInstanceId(),
    createdAt,
    status,
    leader: null,
    metadataPort: 0,
    deleteAt: createdAt + lifeSeconds * 1_000,
    isPreempted: false,
    guestAttributes: {},
  });
  fleet.table.insert(machine.record);
  fleet.machines.add(machine);
  return machine;
}

/** Nineteen digits, as Compute Engine's, below 2^63. */
function newInstanceId(): string {
  return String(10n ** 18n + (randomBytes(8).readBigUInt64BE() % (8n * 10n ** 18n)));
}

async function meetAgain(machine: Machine, request: VmRequest): Promise<CreateOutcome> {
  await machine.tail;
  const { record, context } = machine;
  const { vmName, zone } = request;
  const isSame = (['jobId', 'attempt', 'role', 'index'] as const).every((key) => record.request[key] === request[key]);
  if (!isSame) {
    const message = `The resource 'projects/${context.identity.projectId}/zones/${zone}/instances/${vmName}' already exists.`;
    return { outcome: 'FAILED', failure: { cause: causeOf('CONFIGURATION_REFUSED', message), zonesAvailable: [] } };
  }
  if (record.status === 'STOPPING' || record.status === 'STARTING') {
    throw new Error(`VM ${vmName} in ${zone} is just being removed. Ask for it again when it is gone.`);
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
  const answered = new AbortController();
  const late = delay(fleet.config.stopGraceMs + DELETE_ANSWER_MS, 'DELETING' as const, { signal: answered.signal });
  const gone = destroy(machine).then(() => 'GONE' as const);
  try {
    return await Promise.race([gone, late]);
  } finally {
    late.catch(() => undefined);
    answered.abort();
  }
}

async function keepTicking(fleet: Fleet): Promise<void> {
  const { machines, closing } = fleet;
  while (!closing.aborted) {
    startWaiting(fleet);
    for (const machine of machines) {
      endWhenDue(machine);
      inBackground(machine, boundSerialPort(machine.directory));
    }
    await delay(TICK_MS, undefined, { signal: closing, ref: false }).catch(() => undefined);
  }
}
