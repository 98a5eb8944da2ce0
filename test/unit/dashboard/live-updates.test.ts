import { expect, it } from 'vitest';
import { createLiveUpdates, isConcerned, type LiveChanges } from '#dashboard/client/live-updates.ts';
import type { Change, Changes } from '#shared/ports/change-feed.ts';

const record = (jobId: string, version = '1'): Change => ({ jobId, kind: 'RECORD', version });
const heartbeat = (jobId: string): Change => ({ jobId, kind: 'HEARTBEAT', version: '1' });

/** A page whose polls wait for the test's answers, and whose timers fire when the test says so. */
function start() {
  const queries: { marker: string | null; jobId: string | null }[] = [];
  const timers: { ms: number; run: () => void }[] = [];
  const changes: LiveChanges[] = [];
  let settle = Promise.withResolvers<Changes>();
  let isVisible = true;
  let notify = () => {};
  const live = createLiveUpdates({
    poll: (query) => {
      queries.push(query);
      settle = Promise.withResolvers();
      return settle.promise;
    },
    isVisible: () => isVisible,
    onVisibilityChange: (listener) => {
      notify = listener;
    },
    after: (ms, run) => {
      const timer = { ms, run };
      timers.push(timer);
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
    },
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    live,
    queries,
    timers,
    changes,
    fire: () => timers.shift()?.run(),
    async answer(answer: Partial<Changes>) {
      settle.resolve({ changes: [], isEverything: false, marker: 'm', pollAfterMs: 5_000, ...answer });
      await settled();
    },
    async fail() {
      settle.reject(new Error('unreachable'));
      await settled();
    },
    setVisible(visible: boolean) {
      isVisible = visible;
      notify();
    },
  };
}

function startFollowing() {
  const page = start();
  page.live.subscribe('ALL', (change) => page.changes.push(change));
  page.live.start();
  return page;
}

it('asks what changed since the last answer, as often as the API says', async () => {
  const { live, queries, timers, changes, answer, fire } = startFollowing();
  await answer({ isEverything: true, marker: 'm1' });
  expect([live.status.get(), timers.map(({ ms }) => ms)]).toEqual(['LIVE', [5_000]]);
  fire();
  await answer({ changes: [record('a')], marker: 'm2', pollAfterMs: 15_000 });
  expect(timers.map(({ ms }) => ms)).toEqual([15_000]);
  fire();
  await answer({});
  expect(queries.map(({ marker }) => marker)).toEqual([null, 'm1', 'm2']);
  expect(changes).toEqual(['ALL', [record('a')], []]);
});

it('passes on a change that answers repeat only once', async () => {
  const { changes, answer, fire } = startFollowing();
  await answer({ changes: [record('a')] });
  fire();
  await answer({ changes: [record('a'), heartbeat('a'), record('a', '2')] });
  expect(changes.at(-1)).toEqual([heartbeat('a'), record('a', '2')]);
});

it('tries an unreachable API again with growing pauses, and then reads everything again', async () => {
  const { live, timers, changes, answer, fail, fire } = startFollowing();
  await answer({});
  const pauses: unknown[] = [];
  for (let failure = 0; failure < 8; failure += 1) {
    fire();
    await fail();
    pauses.push(timers[0]?.ms);
  }
  expect([live.status.get(), pauses]).toEqual([
    'RECONNECTING',
    [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000],
  ]);
  fire();
  await answer({});
  expect([live.status.get(), changes.at(-1), timers.map(({ ms }) => ms)]).toEqual(['LIVE', 'ALL', [5_000]]);
});

it('requests nothing while the tab is hidden, and asks for the changes since then when it is shown', async () => {
  const { live, queries, timers, answer, fire, setVisible } = startFollowing();
  await answer({ marker: 'm1' });
  setVisible(false);
  expect([live.status.get(), timers]).toEqual(['PAUSED', []]);
  setVisible(true);
  expect(queries.at(-1)).toEqual({ marker: 'm1', jobId: null });
  await answer({ marker: 'm2' });

  fire();
  setVisible(false);
  await answer({ marker: 'm3' });
  expect([live.status.get(), timers]).toEqual(['PAUSED', []]);
});

it('asks for the changes of the one job that is shown, as soon as it is', async () => {
  const { live, queries, timers, answer, fire } = startFollowing();
  await answer({});
  const { live: other, ...page } = start();
  other.start();
  await page.answer({});
  other.subscribe([], () => {});
  const ends = [other.subscribe(['a'], () => {}), other.subscribe(['a'], () => {})];
  expect(page.timers.map(({ ms }) => ms)).toEqual([0]);
  page.fire();
  await page.answer({});
  ends.push(other.subscribe(['b'], () => {}));
  page.fire();
  await page.answer({});
  expect(page.queries.map(({ jobId }) => jobId)).toEqual([null, 'a', null]);

  live.subscribe(['a'], () => {});
  expect(timers.map(({ ms }) => ms)).toEqual([5_000]);
  fire();
  expect(queries.at(-1)?.jobId).toBeNull();
});

it('misses no change of other jobs while it waits for the changes of the one that was shown', async () => {
  const { live, queries, answer, fire } = start();
  const end = live.subscribe(['a'], () => {});
  live.start();
  await answer({ isEverything: true, marker: 'm1' });
  fire();
  end();
  live.subscribe('ALL', () => {});
  await answer({ marker: 'm2' });
  fire();
  expect(queries.at(-1)).toEqual({ marker: 'm1', jobId: null });
  await answer({ marker: 'm3' });
  fire();
  expect(queries.at(-1)).toEqual({ marker: 'm3', jobId: null });
});

it('concerns a job that changed or whose VMs reported, and lists only with a record', () => {
  expect(isConcerned(['a'], [heartbeat('a')])).toBe(true);
  expect(isConcerned(['a'], [record('b')])).toBe(false);
  expect(isConcerned('ALL', [heartbeat('a')])).toBe(false);
  expect(isConcerned('ALL', [record('a_trial_1')])).toBe(true);
  expect([isConcerned(['a'], 'ALL'), isConcerned([], 'ALL')]).toEqual([true, false]);
});
