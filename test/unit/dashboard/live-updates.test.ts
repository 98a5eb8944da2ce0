import { expect, it } from 'vitest';
import { type Changes, createLiveUpdates } from '#dashboard/client/live-updates.ts';
import { createStore } from '#dashboard/store/store.ts';

/** A source of events that the test drives. */
class Source extends EventTarget {
  readonly CLOSED = 2;
  readyState = 0;

  close(): void {
    this.readyState = 2;
  }

  send(data: object): void {
    this.dispatchEvent(new MessageEvent('change', { data: JSON.stringify(data) }));
  }

  open(): void {
    this.dispatchEvent(new Event('open'));
  }

  /** `isRejected`: the server answered, but not with events. */
  fail(isRejected: boolean): void {
    this.readyState = isRejected ? 2 : 0;
    this.dispatchEvent(new Event('error'));
  }
}

function start() {
  const sources: Source[] = [];
  const timers: { ms: number; run: () => void }[] = [];
  const changes: Changes[] = [];
  const failuresInRow = createStore(0);
  let isVisible = true;
  let notify = () => {};
  const live = createLiveUpdates({
    openEvents: () => {
      const source = new Source();
      sources.push(source);
      return source as unknown as EventSource;
    },
    isVisible: () => isVisible,
    onVisibilityChange: (listener) => {
      notify = listener;
    },
    failuresInRow,
    after: (ms, run) => {
      const timer = { ms, run };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  });
  live.subscribe((change) => changes.push(change));
  live.start();
  return {
    live,
    sources,
    timers,
    changes,
    failuresInRow,
    last: () => sources.at(-1) ?? new Source(),
    fire: () => timers.shift()?.run(),
    setVisible(visible: boolean) {
      isVisible = visible;
      notify();
    },
  };
}

it('publishes the jobs that events name, and everything when it connects', () => {
  const { live, last, changes } = start();
  last().open();
  last().send({ jobIds: ['a', 'b'] });
  last().send({ jobIds: [], isEverything: true });
  expect(changes).toEqual(['ALL', new Set(['a', 'b']), 'ALL']);
  expect(live.status.get()).toBe('LIVE');
});

it('polls an API without events, with growing pauses while it fails', () => {
  const { live, last, timers, changes, failuresInRow, fire } = start();
  last().fail(true);
  expect([live.status.get(), timers[0]?.ms]).toEqual(['POLLING', 5_000]);
  failuresInRow.set(2);
  fire();
  expect([live.status.get(), timers[0]?.ms, changes]).toEqual(['RECONNECTING', 20_000, ['ALL']]);
  failuresInRow.set(30);
  fire();
  expect(timers[0]?.ms).toBe(60_000);
  failuresInRow.set(0);
  fire();
  expect([live.status.get(), timers[0]?.ms]).toEqual(['POLLING', 5_000]);
});

it('reconnects to an API that had events, and then reads everything again', () => {
  const { live, last, timers, changes, sources, fire } = start();
  last().open();
  last().fail(false);
  expect([live.status.get(), timers[0]?.ms]).toEqual(['RECONNECTING', 1_000]);
  fire();
  last().fail(true);
  expect(timers[0]?.ms).toBe(2_000);
  fire();
  last().open();
  expect([live.status.get(), sources.length, changes]).toEqual(['LIVE', 3, ['ALL', 'ALL']]);
});

it('does nothing while the tab is hidden, and reads everything when it is shown', () => {
  const { live, last, timers, changes, sources, setVisible } = start();
  last().open();
  setVisible(false);
  expect([live.status.get(), last().readyState, timers.length]).toEqual(['PAUSED', 2, 0]);
  setVisible(true);
  last().open();
  expect([live.status.get(), sources.length, changes]).toEqual(['LIVE', 2, ['ALL', 'ALL']]);
});

it('stops polling while the tab is hidden', () => {
  const { last, timers, setVisible } = start();
  last().fail(true);
  expect(timers.length).toBe(1);
  setVisible(false);
  expect(timers.length).toBe(0);
});
