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
  /** By `namespace/key`. */
  readonly guestAttributes: Readonly<Record<string, string>>;
};

/** The job id of VMs that belong to no job: created through the Compute Engine API without Dropforge's labels. */
export const NO_JOB = '';

/** The VMs of the embedded cloud and its injected stockouts, in SQLite. */
export type VmTable = {
  insert(record: VmRecord): void;
  update(record: VmRecord): void;
  remove(instanceId: string): void;
  readAll(): readonly VmRecord[];
  setStockout(zone: string, isStockedOut: boolean): void;
  listStockouts(): readonly string[];
};

const SCHEMA = `
  create table if not exists vms (
    instance_id text primary key, zone text not null, vm_name text not null, request text not null, state text not null,
    unique (zone, vm_name)
  ) strict;
  create table if not exists zone_stockouts (zone text primary key) strict;
`;

export function openVmTable({ sql }: Database): VmTable {
  sql.exec(SCHEMA);
  const statements = {
    insert: sql.prepare('insert into vms (instance_id, zone, vm_name, request, state) values (?, ?, ?, ?, ?)'),
    update: sql.prepare('update vms set request = ?, state = ? where instance_id = ?'),
    remove: sql.prepare('delete from vms where instance_id = ?'),
    all: sql.prepare('select * from vms order by rowid'),
    addStockout: sql.prepare('insert or ignore into zone_stockouts values (?)'),
    removeStockout: sql.prepare('delete from zone_stockouts where zone = ?'),
    stockouts: sql.prepare('select zone from zone_stockouts order by zone'),
  };
  return {
    insert({ request, instanceId, ...state }) {
      const { zone, vmName } = request;
      statements.insert.run(instanceId, zone, vmName, JSON.stringify(request), JSON.stringify(state));
    },
    update: ({ request, instanceId, ...state }) =>
      void statements.update.run(JSON.stringify(request), JSON.stringify(state), instanceId),
    remove: (instanceId) => void statements.remove.run(instanceId),
    readAll: () => statements.all.all().map(toRecord),
    setStockout: (zone, isStockedOut) =>
      void (isStockedOut ? statements.addStockout : statements.removeStockout).run(zone),
    listStockouts: () => statements.stockouts.all().map(({ zone }) => String(zone)),
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
