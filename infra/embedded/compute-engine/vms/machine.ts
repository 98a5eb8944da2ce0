import { join } from 'node:path';
import { type MetadataServer, openMetadataServer } from '#infra/embedded/compute-engine/metadata-server/server.ts';
import { findNode, type MetadataDirectory } from '#infra/embedded/compute-engine/metadata-server/tree.ts';
import type { VmProviderConfig } from '#infra/embedded/compute-engine/vms/admission.ts';
import { removeContainers } from '#infra/embedded/compute-engine/vms/containers.ts';
import { trustDirectoryOf } from '#infra/embedded/compute-engine/vms/environment.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import { createVmMetadata } from '#infra/embedded/compute-engine/vms/metadata.ts';
import { marksOf } from '#infra/embedded/compute-engine/vms/process.ts';
import { killTree, type ProcessTree } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import type { VmRecord, VmTable } from '#infra/embedded/compute-engine/vms/table.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import type { GoogleApisOptions } from '#infra/embedded/vm-proxy/google-apis.ts';
import { createVmProxy } from '#infra/embedded/vm-proxy/proxy.ts';
import { type HostCertificate, readTrust } from '#infra/embedded/vm-proxy/trust.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

/** The method names in Cloud Logging's audit log for VMs that ended without a request to end them. */
export type InterruptionMethod =
  | 'compute.instances.preempted'
  | 'compute.instances.hostError'
  | 'compute.instances.terminateOnHostMaintenance'
  | 'compute.instances.guestTerminate';

/** The context shared by all VMs of an embedded cloud. */
export type MachineContext = {
  readonly table: VmTable;
  readonly clock: Clock;
  readonly identity: VmIdentityIssuer;
  /** Parent of the VMs' directories. */
  readonly directory: string;
  /** The environment of this machine. */
  readonly host: Environment;
  readonly config: VmProviderConfig;
  /** The answers of the VMs' proxies for Google's hosts. */
  readonly googleApis: Omit<GoogleApisOptions, 'issueToken'>;
  readonly findPython: (machineImage: string) => Promise<string | undefined>;
  readonly onInterrupted: (vm: Vm, method: InterruptionMethod) => Promise<void>;
  readonly onRemoved: (machine: Machine) => void;
  readonly writeLog: (line: string) => void;
  /** Aborted when the cloud is closed: the VMs keep running, but their records are no longer updated. */
  readonly closing: AbortSignal;
};

/** One VM in the memory of the running cloud; its persistent state is in the record. */
export type Machine = {
  readonly context: MachineContext;
  readonly directory: string;
  record: VmRecord;
  server: MetadataServer | null;
  /** The certificate of the VM's proxy; undefined before the first boot. */
  certificate: HostCertificate | undefined;
  /** Settles when all work started on this VM so far has finished. */
  lastWork: Promise<void>;
  /** Resolves when the VM is deleted; null before deletion starts. */
  destroying: Promise<void> | null;
  /** After a failure, the deletion is not retried before this time. */
  retryAt: number;
};

const RETRY_MS = 5_000;

export function createMachine(context: MachineContext, record: VmRecord): Machine {
  const directory = join(context.directory, `${record.request.vmName}-${record.instanceId}`);
  return {
    context,
    directory,
    record,
    server: null,
    certificate: undefined,
    lastWork: Promise.resolve(),
    destroying: null,
    retryAt: 0,
  };
}

/** Changes the record; it is persisted before any dependent action. */
export function updateRecord(machine: Machine, part: Partial<VmRecord>): void {
  const { closing, table } = machine.context;
  closing.throwIfAborted();
  machine.record = { ...machine.record, ...part };
  table.update(machine.record);
}

/** Runs work on a VM sequentially, in the order of the calls. */
export function runInOrder(machine: Machine, work: () => Promise<void>): Promise<void> {
  const done = machine.lastWork.then(work);
  machine.lastWork = done.catch(() => undefined);
  return done;
}

/** Logs the error of work that is not awaited; the deletion of the VM is retried no earlier than RETRY_MS later. */
export function runInBackground(machine: Machine, done: Promise<void>): void {
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

/** Kills everything that runs on the VM, and removes its containers. */
export async function killMachine(machine: Machine): Promise<void> {
  const { context, directory, record } = machine;
  await killTree(treeOf(machine));
  await removeContainers({ directory, instanceId: record.instanceId }, context.host);
}

/**
 * Opens the metadata server and the proxy on the port that the VM was given at its first boot. Throws if the port is in
 * use.
 */
export async function openMetadata(machine: Machine): Promise<void> {
  const { identity, clock } = machine.context;
  const tree = createVmMetadata({ identity, clock, record: () => machine.record });
  machine.certificate ??= await readTrust(trustDirectoryOf(machine.directory));
  machine.server ??= await openMetadataServer({
    port: machine.record.metadataPort,
    tree,
    proxy: createVmProxy({
      ...machine.context.googleApis,
      host: machine.context.host,
      certificate: () => machine.certificate,
      issueToken: () => issueToken(tree()),
    }),
  });
  updateRecord(machine, { metadataPort: machine.server.port });
}

/** The access token that the metadata server returns for the VM's service account. */
async function issueToken(tree: MetadataDirectory): Promise<string> {
  const token = findNode(tree, ['instance', 'service-accounts', 'default', 'token']);
  if (token?.kind !== 'ACTION') {
    throw new Error('The VM has no service account.');
  }
  return (await token.respond(new URLSearchParams())).body;
}
