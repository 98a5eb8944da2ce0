/** A record that the control plane acts on. One that is not CLOSED has a deadline, at which the reconciler wakes it. */
export type MachineRecord = { readonly createdAt: number } & (
  | { readonly status: string; readonly wakeAt: number }
  | { readonly status: 'CLOSED' }
);

export type StoredRecord<Item> = { readonly record: Item; readonly revision: number };

/**
 * An effect that was committed and not yet published. `entryId` is derived from the event, so duplicates are
 * recognizable.
 */
export type OutboxEntry<Effect> = { readonly entryId: string; readonly effect: Effect };

/**
 * COMMITTED: written. STALE: the revision has changed, read again. DUPLICATE: this event was handled before.
 * OVER_LIMIT: the VMs of all jobs together would exceed a limit.
 */
export type CommitOutcome = 'COMMITTED' | 'STALE' | 'DUPLICATE' | 'OVER_LIMIT';

/** The records that one event has changed. */
export type Change<Item, Effect> = {
  readonly expectedRevision: number;
  readonly eventId: string;
  readonly record: Item;
  readonly effects: readonly Effect[];
};

/**
 * Stores one kind of record. One commit contains the record, the handled event, the outbox entries, and the further
 * facts that this kind commits with them.
 */
export type RecordStore<Item, Effect, Facts = unknown> = {
  /** Creates a record with its outbox entries. EXISTS: the id is taken, here or in another store; nothing is changed. */
  create(record: Item, effects: readonly Effect[]): Promise<'CREATED' | 'EXISTS'>;
  read(id: string): Promise<StoredRecord<Item> | undefined>;
  commit(change: Change<Item, Effect> & Facts): Promise<CommitOutcome>;
  /** Records that are not closed and whose `wakeAt` is at or before `now`, most overdue first. Reads only those. */
  listDue(now: number, countMax: number): Promise<readonly { readonly id: string; readonly wakeAt: number }[]>;
  /** Ids of the records with outbox entries. Reads only those. */
  listWithOutbox(countMax: number): Promise<readonly string[]>;
  /** Outbox entries of a record, oldest first. */
  listOutbox(id: string): Promise<readonly OutboxEntry<Effect>[]>;
  /** Deletes a published entry; idempotent. */
  markPublished(id: string, entryId: string): Promise<void>;
  /** The records that users submitted, newest first, then by id; `after` is the last one of the previous page. */
  list(page: {
    readonly countMax: number;
    readonly after?: { readonly createdAt: number; readonly id: string };
  }): Promise<readonly Item[]>;
};

/** The facts that stores need about one kind of record. The records are stored as JSON, which `parse` reads again. */
export type RecordForm<Item, Effect> = {
  /** The field of a record that holds its id. */
  readonly idField: keyof Item & string;
  readonly parse: (json: string) => Item;
  readonly parseEffect: (json: string) => Effect;
};

/** When the reconciler wakes a record; null for a closed one, which is never due. */
export function wakeAtOf(record: MachineRecord): number | null {
  return 'wakeAt' in record && record.status !== 'CLOSED' ? record.wakeAt : null;
}
