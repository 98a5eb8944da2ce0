import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** The contents of `Operation.error` and its HTTP fields (Compute API, "zoneOperations"). */
export type OperationFailure = {
  readonly httpStatus: number;
  readonly httpMessage: string;
  readonly errors: readonly {
    readonly code: string;
    readonly message: string;
    readonly errorDetails?: readonly Readonly<Record<string, unknown>>[];
  }[];
};

export type OperationType = 'insert' | 'delete';

/** Work on one VM that continues after its request has returned. Times are milliseconds since the epoch. */
export type OperationRecord = {
  readonly name: string;
  readonly zone: string;
  readonly type: OperationType;
  readonly vmName: string;
  /** The instance id; null until an insertion has created the VM, and if it failed. */
  readonly targetId: string | null;
  /** Chosen by the client for idempotency: requests with the same id are the same operation. */
  readonly requestId: string | null;
  readonly insertedAt: number;
  /** Null while the operation is running. */
  readonly endedAt: number | null;
  readonly failure: OperationFailure | null;
};

const DONE_COUNT_MAX = 1_000;

const SCHEMA = `
  create table if not exists compute_operations (
    name text primary key, zone text not null, request_id text, is_done integer not null, operation text not null
  ) strict;
  create index if not exists compute_operations_by_request on compute_operations (zone, request_id);
`;

export type OperationTable = ReturnType<typeof openOperationTable>;

/** The operations of the embedded Compute Engine in SQLite; only the newest finished operations are kept. */
export function openOperationTable({ sql }: Database) {
  sql.exec(SCHEMA);
  const statements = {
    insert: sql.prepare('insert into compute_operations values (?, ?, ?, ?, ?)'),
    update: sql.prepare('update compute_operations set is_done = ?, operation = ? where name = ?'),
    trim: sql.prepare(`
      delete from compute_operations where is_done = 1 and rowid not in
        (select rowid from compute_operations where is_done = 1 order by rowid desc limit ${DONE_COUNT_MAX})`),
    find: sql.prepare('select operation from compute_operations where zone = ? and name = ?'),
    findByRequestId: sql.prepare('select operation from compute_operations where zone = ? and request_id = ?'),
    all: sql.prepare('select operation from compute_operations order by zone, name'),
  };
  const isDone = ({ endedAt }: OperationRecord) => (endedAt === null ? 0 : 1);
  return {
    insert(operation: OperationRecord): void {
      const { name, zone, requestId } = operation;
      statements.insert.run(name, zone, requestId, isDone(operation), JSON.stringify(operation));
      statements.trim.run();
    },
    update: (operation: OperationRecord) =>
      void statements.update.run(isDone(operation), JSON.stringify(operation), operation.name),
    find: (zone: string, name: string) => toOperation(statements.find.get(zone, name)),
    findByRequestId: (zone: string, requestId: string) => toOperation(statements.findByRequestId.get(zone, requestId)),
    /** By zone and name. */
    readAll: (): readonly OperationRecord[] => statements.all.all().flatMap((row) => toOperation(row) ?? []),
  };
}

function toOperation(row: Record<string, unknown> | undefined): OperationRecord | undefined {
  return row === undefined ? undefined : (JSON.parse(String(row.operation)) as OperationRecord);
}

/** The outcome of an operation's work: the instance id, or the failure. */
export type WorkOutcome = { readonly targetId: string } | { readonly failure: OperationFailure };

export type Work = () => Promise<WorkOutcome>;

export type OperationStart = {
  readonly type: OperationType;
  readonly zone: string;
  readonly vmName: string;
  readonly targetId: string | null;
  readonly requestId: string | null;
};

/** Starts and tracks the operations of the embedded Compute Engine. */
export type Operations = {
  start(given: OperationStart, work: Work): OperationRecord;
  find(zone: string, name: string): OperationRecord | undefined;
  /** The operation of an earlier request with this id, if any. */
  findByRequestId(zone: string, requestId: string | null): OperationRecord | undefined;
  /** Whether an unfinished insertion reserves the VM's name. */
  isBeingInserted(zone: string, vmName: string): boolean;
  /** Resolves with the operation when it is done, after two minutes, or when `signal` aborts, whichever comes first. */
  wait(operation: OperationRecord, signal: AbortSignal): Promise<OperationRecord>;
};

export type OperationsOptions = {
  readonly table: OperationTable;
  readonly clock: Clock;
  readonly reportError: (error: Error) => void;
};

/** Compute API, "zoneOperations.wait": at most 2 minutes. */
const WAIT_MS_MAX = 120_000;

const INTERNAL_FAILURE: OperationFailure = {
  httpStatus: 500,
  httpMessage: 'INTERNAL SERVER ERROR',
  errors: [{ code: 'INTERNAL_ERROR', message: 'Internal error. Please try again or contact Google Support.' }],
};

export function createOperations({ table, clock, reportError }: OperationsOptions): Operations {
  const running = new Map<string, Promise<void>>();

  async function run(operation: OperationRecord, work: Work): Promise<void> {
    const outcome = await work().catch((error: unknown) => {
      reportError(error instanceof Error ? error : new Error(String(error)));
      return { failure: INTERNAL_FAILURE };
    });
    try {
      table.update({ ...operation, ...outcome, endedAt: clock.now() });
    } catch (error) {
      // The cloud was closed in the meantime: the next start finds the operation unfinished.
      reportError(error instanceof Error ? error : new Error(String(error)));
    }
    running.delete(operation.name);
  }

  const reload = (operation: OperationRecord) => table.find(operation.zone, operation.name) ?? operation;

  return {
    start(given, work) {
      const operation = { ...given, name: nameOf(clock), insertedAt: clock.now(), endedAt: null, failure: null };
      table.insert(operation);
      running.set(operation.name, run(operation, work));
      return operation;
    },
    find: (zone, name) => table.find(zone, name),
    findByRequestId: (zone, requestId) => (requestId === null ? undefined : table.findByRequestId(zone, requestId)),
    isBeingInserted: (zone, vmName) =>
      [...running.keys()].some((name) => {
        const operation = table.find(zone, name);
        return operation?.type === 'insert' && operation.vmName === vmName;
      }),
    async wait(operation, signal) {
      const settled = new AbortController();
      const timeout = delay(WAIT_MS_MAX, undefined, { signal: AbortSignal.any([signal, settled.signal]), ref: false });
      await Promise.race([running.get(operation.name), timeout.catch(() => undefined)]);
      settled.abort();
      return reload(operation);
    },
  };
}

/**
 * Finishes the operations that a crashed cloud left unfinished, by the state of the VMs: an insertion succeeded if its
 * VM exists; a deletion continues by itself, and its operation is marked done at once.
 */
export function recoverOperations({ table, clock }: OperationsOptions, vms: readonly VmRecord[]): void {
  for (const operation of table.readAll().filter(({ endedAt }) => endedAt === null)) {
    const { type, vmName, zone, insertedAt } = operation;
    const created = vms.find(
      ({ request, createdAt }) => request.vmName === vmName && request.zone === zone && createdAt >= insertedAt,
    );
    const outcome =
      type !== 'insert' ? {} : created === undefined ? { failure: INTERNAL_FAILURE } : { targetId: created.instanceId };
    table.update({ ...operation, ...outcome, endedAt: clock.now() });
  }
}

/** Named as by Compute Engine: a timestamp and random digits. */
function nameOf(clock: Clock): string {
  const random = randomBytes(10).toString('hex');
  return `operation-${clock.now()}-${random.slice(0, 12)}-${random.slice(12)}`;
}
