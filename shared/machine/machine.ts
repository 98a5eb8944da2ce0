import { attemptAll } from '#shared/machine/attempt-all.ts';
import type { MachineRecord, RecordStore } from '#shared/machine/record-store.ts';

/** One of conflicting commits succeeds each time. The function `tuning` handles at most as many messages at once. */
export const COMMIT_TRIES_MAX = 8;

/** Limit on each kind of work per tick of the reconciler; the next tick continues. */
export const WORK_PER_TICK_MAX = 200;

/** The result of an event: the next record, or the same one if the event is ignored. */
export type Step<Item, Effect, Facts> = { readonly record: Item; readonly effects: readonly Effect[] } & Facts;

/** A kind of record: its store and its rules, and what becomes of its effects. */
export type Machine<Item extends MachineRecord, Event, Effect, Facts = unknown> = {
  /** The name of a record in errors: `Job`. */
  readonly name: string;
  readonly records: RecordStore<Item, Effect, Facts>;
  /** The id of the record that the event is about. */
  readonly idOf: (event: Event) => string;
  readonly transition: (record: Item, event: Event) => Step<Item, Effect, Facts>;
  /** The event that the deadline of a record has passed. */
  readonly deadlineOf: (id: string, wake: { readonly eventId: string; readonly at: number }) => Event | Promise<Event>;
  /** Publishes the message of an effect, which is safe to publish twice. */
  readonly publish: (effect: Effect, id: string) => Promise<unknown>;
  /** Called after each commit, with its revision, and what has changed; null for the creation. */
  readonly onCommitted: (
    record: Item,
    commit: { readonly revision: number; readonly change: { readonly before: Item; readonly event: Event } | null },
  ) => void;
};

/**
 * Handles an event exactly once, however often it is delivered: read the record, apply the rules, commit, publish the
 * outbox. Returns the record afterwards, or undefined if it does not exist. Throws after COMMIT_TRIES_MAX conflicting
 * commits, so that the event is redelivered.
 */
export async function handleEvent<
  Item extends MachineRecord,
  Event extends { readonly eventId: string },
  Effect,
  Facts,
>(machine: Machine<Item, Event, Effect, Facts>, event: Event): Promise<Item | undefined> {
  const { name, records, idOf, transition } = machine;
  const id = idOf(event);
  for (let commitTry = 1; commitTry <= COMMIT_TRIES_MAX; commitTry += 1) {
    const stored = await records.read(id);
    if (stored === undefined) {
      return undefined;
    }
    const step = transition(stored.record, event);
    if (step.record === stored.record) {
      return step.record;
    }
    const outcome = await records.commit({ ...step, expectedRevision: stored.revision, eventId: event.eventId });
    if (outcome === 'STALE') {
      continue;
    }
    if (outcome === 'OVER_LIMIT') {
      return stored.record;
    }
    if (outcome === 'COMMITTED') {
      machine.onCommitted(step.record, { revision: stored.revision + 1, change: { before: stored.record, event } });
    }
    await publishOutbox(machine, id);
    return outcome === 'COMMITTED' ? step.record : (await records.read(id))?.record;
  }
  throw new Error(`${name} ${id} kept changing while event ${event.eventId} was handled; it is redelivered.`);
}

/** Creates a record with its outbox entries, which are not published here. EXISTS: the id is taken, nothing changed. */
export async function createRecord<Item extends MachineRecord, Effect>(
  { records, onCommitted }: Pick<Machine<Item, never, Effect>, 'records' | 'onCommitted'>,
  record: Item,
  effects: readonly Effect[],
): Promise<'CREATED' | 'EXISTS'> {
  const outcome = await records.create(record, effects);
  if (outcome === 'CREATED') {
    onCommitted(record, { revision: 1, change: null });
  }
  return outcome;
}

/**
 * Publishes the outbox entries of a record, oldest first, and marks each as published. A crash in between publishes an
 * entry again: every effect is idempotent. An entry that cannot be published stays, and does not hold up the others;
 * throws at the end.
 */
export async function publishOutbox<Effect>({ records, publish }: OutboxOf<Effect>, id: string): Promise<void> {
  await attemptAll(await records.listOutbox(id), async ({ entryId, effect }) => {
    await publish(effect, id);
    await records.markPublished(id, entryId);
  });
}

type OutboxOf<Effect> = {
  readonly records: Pick<RecordStore<never, Effect>, 'listWithOutbox' | 'listOutbox' | 'markPublished'>;
  readonly publish: (effect: Effect, id: string) => Promise<unknown>;
};

/** Publishes the outbox entries of processes that died after their commit. */
export async function publishOutboxes<Effect>(machine: OutboxOf<Effect>): Promise<void> {
  await attemptAll(await machine.records.listWithOutbox(WORK_PER_TICK_MAX), (id) => publishOutbox(machine, id));
}

/**
 * Tells every due record that its deadline has passed, and hands it on as it is then. The event id contains deadline
 * and tick. The rules make sure that two ticks wake a record once; an id without the tick would not do, since a late
 * answer can set the deadline back to a time for which the record was woken before.
 */
export async function wakeDue<Item extends MachineRecord, Event extends { readonly eventId: string }, Effect, Facts>(
  machine: Machine<Item, Event, Effect, Facts>,
  now: number,
  onWoken: (record: Item | undefined) => Promise<unknown> = async () => undefined,
): Promise<void> {
  await attemptAll(await machine.records.listDue(now, WORK_PER_TICK_MAX), async ({ id, wakeAt }) => {
    const event = await machine.deadlineOf(id, { eventId: `deadline-${wakeAt}-${now}`, at: now });
    await onWoken(await handleEvent(machine, event));
  });
}
