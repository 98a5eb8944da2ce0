import type { Database } from '#infra/embedded/data-dir/database.ts';

/** As `Operation.error` and its HTTP fields have it (Compute API, "zoneOperations"). */
export type OperationFailure = {
  readonly httpStatus: number;
  readonly httpMessage: string;
  readonly errors: readonly {
    readonly code: string;
    readonly message: string;
    readonly errorDetails?: readonly Readonly<Record<string, unknown>>[];
  }[];
};

export type OperationType = 'insert' | 'delete' | 'setMetadata' | 'setLabels' | 'stop' | 'start' | 'reset';

/** Work on one VM that outlives the request for it. Times are milliseconds since the epoch. */
export type OperationRecord = {
  readonly name: string;
  readonly zone: string;
  readonly type: OperationType;
  readonly vmName: string;
  /** The instance id; null while an insertion has none yet, and where it failed. */
  readonly targetId: string | null;
  /** Given by the client: the same one means the same operation. */
  readonly requestId: string | null;
  readonly insertedAt: number;
  /** Null while it runs. */
  readonly endedAt: number | null;
  readonly failure: OperationFailure | null;
};

/** The operations of the embedded Compute Engine, in SQLite; of those that are done, the newest are kept. */
export type OperationTable = {
  insert(operation: OperationRecord): void;
  update(operation: OperationRecord): void;
  find(zone: string, name: string): OperationRecord | undefined;
  findByRequestId(zone: string, requestId: string): OperationRecord | undefined;
  /** By zone and name. */
  readAll(): readonly OperationRecord[];
};

const DONE_COUNT_MAX = 1_000;

const SCHEMA = `
  create table if not exists compute_operations (
    name text primary key, zone text not null, request_id text, is_done integer not null, operation text not null
  ) strict;
  create index if not exists compute_operations_by_request on compute_operations (zone, request_id);
`;

export function openOperationTable({ sql }: Database): OperationTable {
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
    insert(operation) {
      const { name, zone, requestId } = operation;
      statements.insert.run(name, zone, requestId, isDone(operation), JSON.stringify(operation));
      statements.trim.run();
    },
    update: (operation) => void statements.update.run(isDone(operation), JSON.stringify(operation), operation.name),
    find: (zone, name) => toOperation(statements.find.get(zone, name)),
    findByRequestId: (zone, requestId) => toOperation(statements.findByRequestId.get(zone, requestId)),
    readAll: () => statements.all.all().flatMap((row) => toOperation(row) ?? []),
  };
}

function toOperation(row: Record<string, unknown> | undefined): OperationRecord | undefined {
  return row === undefined ? undefined : (JSON.parse(String(row.operation)) as OperationRecord);
}
