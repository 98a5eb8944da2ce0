import { join } from 'node:path';
import { type MetadataServer, openMetadataServer } from '#infra/embedded/compute-engine/metadata-server/server.ts';
import type { VmProviderConfig } from '#infra/embedded/compute-engine/vms/admission.ts';
import type { Environment } from '#infra/embedded/compute-engine/vms/environment.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import { createVmMetadata, withGuestAttribute } from '#infra/embedded/compute-engine/vms/metadata.ts';
import { marksOf } from '#infra/embedded/compute-engine/vms/process.ts';
import type { ProcessTree } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import type { VmRecord, VmTable } from '#infra/embedded/compute-engine/vms/table.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

/** As Cloud Logging's audit log names what ends a VM without anybody having asked for it. */
export type InterruptionMethod =
  | 'compute.instances.preempted'
  | 'compute.instances.hostError'
  | 'compute.instances.terminateOnHostMaintenance'
  | 'compute.instances.guestTerminate';

/** What all VMs of an embedded cloud share. */
export type MachineContext = {
  readonly table: VmTable;
  readonly clock: Clock;
  readonly identity: VmIdentityIssuer;
  /** Where the VMs have their directories. */
  readonly directory: string;
  /** The environment of this machine. */
  readonly host: Environment;
  readonly config: VmProviderConfig;
  readonly findPython: (machineImage: string) => Promise<string | undefined>;
  readonly onInterrupted: (vm: Vm, method: InterruptionMethod) => Promise<void>;
  readonly onGone: (machine: Machine) => void;
  readonly writeLog: (line: string) => void;
  /** Aborted when the cloud is closed: the VMs live on, and nothing is written about them any more. */
  readonly closing: AbortSignal;
};

/** One VM of the embedded cloud while the cloud runs; what must outlive it is in the record. */
export type Machine = {
  readonly context: MachineContext;
  readonly directory: string;
  record: VmRecord;
  server: MetadataServer | null;
  /** The end of the work that was begun on this VM. */
  tail: Promise<void>;
  /** The work that ends it, once it was begun. */
  destroying: Promise<void> | null;
  /** After a failure the end is not tried again before this time. */
  retryAt: number;
};

const RETRY_MS = 5_000;

export function createMachine(context: MachineContext, record: VmRecord): Machine {
  const directory = join(context.directory, `${record.request.vmName}-${record.instanceId}`);
  return { context, directory, record, server: null, tail: Promise.resolve(), destroying: null, retryAt: 0 };
}

/** Every change is written down before anything follows from it. */
export function change(machine: Machine, part: Partial<VmRecord>): void {
  const { closing, table } = machine.context;
  closing.throwIfAborted();
  machine.record = { ...machine.record, ...part };
  table.update(machine.record);
}

/** One thing at a time happens to a VM, in the order in which it was asked for. */
export function inTurn(machine: Machine, work: () => Promise<void>): Promise<void> {
  const done = machine.tail.then(work);
  machine.tail = done.catch(() => undefined);
  return done;
}

/** Work that nobody waits for says in the log why it failed, and is tried again later. */
export function inBackground(machine: Machine, done: Promise<void>): void {
  const { clock, closing, writeLog } = machine.context;
  done.catch((error: unknown) => {
    machine.retryAt = clock.now() + RETRY_MS;
    if (!closing.aborted) {
      writeLog(`VM ${machine.record.request.vmName}: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

export function treeOf({ record, directory }: Machine): ProcessTree {
  return { leader: record.leader, marks: marksOf({ instanceId: record.instanceId, directory }) };
}

/** On the port that the VM was told at its first boot. Throws when somebody else has taken it. */
export async function openMetadata(machine: Machine): Promise<void> {
  const { identity, clock } = machine.context;
  machine.server ??= await openMetadataServer({
    port: machine.record.metadataPort,
    tree: createVmMetadata({ identity, clock, record: () => machine.record }),
    writeGuestAttribute(name, value) {
      const { attributes, status, message } = withGuestAttribute(machine.record, name, value);
      if (status === 200) {
        change(machine, { guestAttributes: attributes });
      }
      return { status, message };
    },
  });
  change(machine, { metadataPort: machine.server.port });
}
