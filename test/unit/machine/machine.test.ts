import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { COMMIT_TRIES_MAX, handleEvent, type Machine, publishOutboxes, wakeDue } from '#shared/machine/machine.ts';
import {
  type Bell,
  COUNTDOWNS,
  type Countdown,
  type CountdownEvent,
  type CountdownStore,
  countdownMachine,
  openSqliteCountdowns,
} from '../../support/machine/countdown.ts';

const SECOND = { type: 'SECOND_PASSED', eventId: 's1', id: 'digits' } as const;

let database: Database;
let countdowns: CountdownStore;
let rung: number[];
/** The revision and the count of each commit. */
let committed: string[];
let machine: Machine<Countdown, CountdownEvent, Bell>;

beforeEach(async () => {
  database = openDatabase(':memory:');
  countdowns = openSqliteCountdowns(database);
  rung = [];
  committed = [];
  machine = countdownMachine(countdowns, { bells: async ({ left }) => rung.push(left), log: committed });
  await countdowns.create(COUNTDOWNS.recordOf('digits'), []);
});
afterEach(() => database.close());

it('handles an event once, however often it is delivered, and publishes its effects', async () => {
  expect(await handleEvent(machine, SECOND)).toMatchObject({ left: 2 });
  expect(await handleEvent(machine, SECOND)).toMatchObject({ left: 2 });
  expect(await handleEvent(machine, { ...SECOND, eventId: 's2' })).toMatchObject({ left: 1 });
  expect(rung).toEqual([2, 1]);
  expect(committed).toEqual(['2: 2', '3: 1']);
});

it('ignores an event without a rule, and one of a record that does not exist', async () => {
  const { revision } = (await countdowns.read('digits')) ?? {};
  expect(await handleEvent(machine, { ...SECOND, type: 'RESTARTED' })).toMatchObject({ left: 3 });
  expect((await countdowns.read('digits'))?.revision).toBe(revision);
  expect(await handleEvent(machine, { ...SECOND, id: 'unknown' })).toBeUndefined();
});

it('reads a record again that has changed since, and gives up if it keeps changing', async () => {
  let conflicts = 1;
  const contested: CountdownStore = {
    ...countdowns,
    commit: async (change) => (conflicts-- > 0 ? 'STALE' : countdowns.commit(change)),
  };
  expect(await handleEvent({ ...machine, records: contested }, SECOND)).toMatchObject({ left: 2 });
  conflicts = COMMIT_TRIES_MAX;
  await expect(handleEvent({ ...machine, records: contested }, { ...SECOND, eventId: 's2' })).rejects.toThrow(
    'Countdown digits kept changing while event s2 was handled; it is redelivered.',
  );
});

it('publishes at the next tick what a process left that died after its commit', async () => {
  const dying = { ...machine, publish: () => Promise.reject(new Error('It dies.')) };
  await expect(handleEvent(dying, SECOND)).rejects.toThrow('It dies.');
  expect(rung).toEqual([]);
  await publishOutboxes(machine);
  await publishOutboxes(machine);
  expect(rung).toEqual([2]);
});

it('publishes the other effects of a commit if one cannot be published, and that one at the next tick', async () => {
  await countdowns.create(COUNTDOWNS.recordOf('broken'), [COUNTDOWNS.effectOf(9), COUNTDOWNS.effectOf(8)]);
  const { publish } = machine;
  const cause = new Error('It cannot be published.');
  const failing: typeof machine = {
    ...machine,
    publish: (bell, id) => (bell.left === 9 ? Promise.reject(cause) : publish(bell, id)),
  };
  // Error Reporting groups what failed by its own stack.
  await expect(publishOutboxes(failing)).rejects.toBe(cause);
  expect(rung).toEqual([8]);
  await publishOutboxes(machine);
  expect(rung).toEqual([8, 9]);
});

it('is woken at each deadline until it is closed, without any message', async () => {
  const woken: unknown[] = [];
  for (const now of [999, 1_000, 1_500, 2_000, 3_000, 9_000]) {
    await wakeDue(machine, now, async (record) => woken.push(record?.left));
  }
  expect(woken).toEqual([2, 1, 0]);
  expect(rung).toEqual([2, 1, 0]);
  expect((await countdowns.read('digits'))?.record.status).toBe('CLOSED');
});
