import type { ProcessKey } from '#infra/embedded/compute-engine/vms/process-tree.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Vm, VmRequest, VmStatus } from '#shared/ports/vm-provider.ts';

/** What is known of a VM: enough to find it again after the death of the cloud. Times are milliseconds since the epoch. */
export type VmRecord = {
  readonly request: VmRequest;
  readonly instanceId: string;
  readonly createdAt: number;
  readonly status: VmStatus;
  /** Null before the first boot. */
  readonly leader: ProcessKey | null;
  /** Where its metadata server listens, also after a restart of the cloud: the VM was told once. 0 before it is opened. */
  readonly metadataPort: number;
  /** It is deleted when this time passes: the end of its wait for capacity, of maxRunSeconds, or of a preemption's notice. */
  readonly deleteAt: number;
  readonly isPreempted: boolean;
  /** While it is STOPPING, whether it is to be TERMINATED then, its disk kept, instead of deleted. */
  readonly isHalting?: boolean;
  /** By `namespace/key`. */
  readonly guestAttributes: Readonly<Record<string, string>>;
};

/** The job of VMs that are nobody's: made through the Compute Engine door without Dropforge's labels. */
export const NO_JOB = '';

/** The VMs of the embedded cloud and the zones that are said to be sold out, in SQLite. */
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
    sellOut: sql.prepare('insert or ignore into zone_stockouts values (?)'),
    restock: sql.prepare('delete from zone_stockouts where zone = ?'),
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
    setStockout: (zone, isStockedOut) => void (isStockedOut ? statements.sellOut : statements.restock).run(zone),
    listStockouts: () => statements.stockouts.all().map(({ zone }) => String(zone)),
  };
}

/** The VM as the port speaks of it. */
export function vmOf({ request, instanceId, status }: VmRecord): Vm {
  const { vmName, zone, jobId, attempt } = request;
  return { vmName, zone, instanceId, jobId, attempt, status };
}

function toRecord(row: Record<string, unknown>): VmRecord {
  const state = JSON.parse(String(row.state)) as Omit<VmRecord, 'request' | 'instanceId'>;
  return { ...state, request: JSON.parse(String(row.request)) as VmRequest, instanceId: String(row.instance_id) };
}
