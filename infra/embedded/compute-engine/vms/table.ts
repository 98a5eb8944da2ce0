import type { ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Vm, VmRequest, VmStatus } from '#shared/ports/vm-provider.ts';

/**
 * The persistent state of a VM, enough to recover it after a crash of the cloud. Times are milliseconds since the
 * epoch.
 */
export type VmRecord = {
  readonly request: VmRequest;
  readonly instanceId: string;
  readonly createdAt: number;
  readonly status: VmStatus;
  /** Null before the first boot. */
  readonly leader: ProcessKey | null;
  /**
   * The port of its metadata server, kept across restarts of the cloud: the VM is given it once. 0 before it is opened.
   */
  readonly metadataPort: number;
  /** When the VM is deleted: at the end of its wait for capacity, of maxRunSeconds or of a notice. */
  readonly deleteAt: number;
  readonly isPreempted: boolean;
  /** Whether host maintenance terminates the VM at `deleteAt`. */
  readonly isMaintained?: boolean;
};

/** The job id of VMs that belong to no job: created through the Compute Engine API without Dropforge's labels. */
export const NO_JOB = '';

const SCHEMA = `
  create table if not exists vms (
    instance_id text primary key, zone text not null, vm_name text not null, request text not null, state text not null,
    unique (zone, vm_name)
  ) strict;
`;

export type VmTable = ReturnType<typeof openVmTable>;

/** The VMs of the embedded cloud, in SQLite. */
export function openVmTable({ sql }: Database) {
  sql.exec(SCHEMA);
  const statements = {
    insert: sql.prepare('insert into vms (instance_id, zone, vm_name, request, state) values (?, ?, ?, ?, ?)'),
    update: sql.prepare('update vms set request = ?, state = ? where instance_id = ?'),
    remove: sql.prepare('delete from vms where instance_id = ?'),
    all: sql.prepare('select * from vms order by rowid'),
  };
  return {
    insert({ request, instanceId, ...state }: VmRecord): void {
      const { zone, vmName } = request;
      statements.insert.run(instanceId, zone, vmName, JSON.stringify(request), JSON.stringify(state));
    },
    update: ({ request, instanceId, ...state }: VmRecord) =>
      void statements.update.run(JSON.stringify(request), JSON.stringify(state), instanceId),
    remove: (instanceId: string) => void statements.remove.run(instanceId),
    readAll: (): readonly VmRecord[] => statements.all.all().map(toRecord),
  };
}

/** The VM as the port represents it. */
export function vmOf({ request, instanceId, status }: VmRecord): Vm {
  const { vmName, zone, jobId, attempt } = request;
  return { vmName, zone, instanceId, jobId, attempt, status };
}

/** Fields that the VMs of earlier versions do not have. */
const REQUEST_DEFAULTS = { serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null };

function toRecord(row: Record<string, unknown>): VmRecord {
  const state = JSON.parse(String(row.state)) as Omit<VmRecord, 'request' | 'instanceId'>;
  const request = { ...REQUEST_DEFAULTS, ...(JSON.parse(String(row.request)) as VmRequest) };
  return { ...state, request, instanceId: String(row.instance_id) };
}
