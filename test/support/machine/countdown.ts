import * as z from 'zod';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { openSqliteRecordStore } from '#infra/embedded/job-state/record-store.ts';
import { createFirestoreRecordStore } from '#infra/google-cloud/firestore/firestore-record-store.ts';
import type { Machine } from '#shared/machine/machine.ts';
import type { RecordStore } from '#shared/machine/record-store.ts';

const common = { id: z.string(), createdAt: z.int(), left: z.int().min(0) };

const countdownSchema = z.discriminatedUnion('status', [
  z.object({ ...common, status: z.literal('COUNTING'), wakeAt: z.int() }),
  z.object({ ...common, status: z.literal('CLOSED') }),
]);

const bellSchema = z.object({ type: z.literal('RING'), id: z.string(), left: z.int() });

/** The smallest machine with all parts of one: it counts to zero, once a second, and rings at each count. */
export type Countdown = z.infer<typeof countdownSchema>;
export type Bell = z.infer<typeof bellSchema>;
export type CountdownStore = RecordStore<Countdown, Bell>;

const form = {
  idField: 'id',
  parse: (json: string) => countdownSchema.parse(JSON.parse(json)),
  parseEffect: (json: string) => bellSchema.parse(JSON.parse(json)),
} as const;

export function openSqliteCountdowns(database: Database): CountdownStore {
  const names = {
    records: 'countdowns',
    idColumn: 'id',
    handledEvents: 'countdown_events',
    outbox: 'countdown_outbox',
  };
  return openSqliteRecordStore(database, {
    form,
    tables: { ...names, more: '', isListed: 'true' },
    sharesIdsWith: [],
    commitFacts: () => undefined,
  });
}

export function createFirestoreCountdowns(
  connection: Parameters<typeof createFirestoreRecordStore>[0],
): CountdownStore {
  return createFirestoreRecordStore(connection, {
    form,
    collection: 'countdowns',
    sharesIdsWith: [],
    outbox: { collection: 'countdownOutbox', timeField: 'addedAt' },
    fieldsOf: ({ createdAt }) => ({ createdAt }),
    commitFacts: async () => ({}),
  });
}

/** Countdowns for the contract of their stores. */
export const COUNTDOWNS = {
  recordOf: (id: string, { createdAt = 0, wakeAt = 1_000, mark = 3 } = {}): Countdown => ({
    ...{ id, createdAt, wakeAt },
    status: 'COUNTING',
    left: mark,
  }),
  closedOf: (id: string): Countdown => ({ id, createdAt: 0, status: 'CLOSED', left: 0 }),
  effectOf: (left: number): Bell => ({ type: 'RING', id: 'digits', left }),
  facts: {},
};

export type CountdownEvent = {
  readonly eventId: string;
  readonly id: string;
  readonly type: 'SECOND_PASSED' | 'RESTARTED';
};

/** The row of the machine: its rules, and its one topic. */
export function countdownMachine(
  records: CountdownStore,
  { bells, log }: { readonly bells: (bell: Bell) => Promise<unknown>; readonly log: string[] },
): Machine<Countdown, CountdownEvent, Bell> {
  return {
    name: 'Countdown',
    records,
    idOf: ({ id }) => id,
    deadlineOf: (id, { eventId }) => ({ type: 'SECOND_PASSED', eventId, id }),
    publish: bells,
    onCommitted: ({ left }, { revision }) => log.push(`${revision}: ${left}`),
    transition(record, { type }) {
      if (type !== 'SECOND_PASSED' || record.status === 'CLOSED') {
        return { record, effects: [] };
      }
      const { id, createdAt, wakeAt } = record;
      const left = record.left - 1;
      const next = { id, createdAt, left };
      const effects = [{ type: 'RING' as const, id, left }];
      return left > 0
        ? { record: { ...next, status: 'COUNTING', wakeAt: wakeAt + 1_000 }, effects }
        : { record: { ...next, status: 'CLOSED' }, effects };
    },
  };
}
