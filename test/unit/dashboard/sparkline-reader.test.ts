import { expect, it } from 'vitest';
import { ApiError } from '#dashboard/client/api-error.ts';
import { pathOf } from '#dashboard/screens/jobs/sparkline-path.ts';
import { createSparklineReader } from '#dashboard/screens/jobs/sparkline-reader.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { viewOf } from '../../support/cli/test-cloud.ts';

function jobOf(jobId: string, { heardTime = 'now', loss = 'loss', ...more } = {} as Record<string, string>): JobView {
  const view = viewOf(jobId, more);
  const replica = { replica: 'master-0', metrics: { [loss]: 1 }, heardTime } as unknown as JobView['replicas'][number];
  return { ...view, replicas: [replica] };
}

/** Answers with a line for each series, and records the requests; `fire` runs the timers. */
function start(isFinal: (jobId: string) => boolean = () => false) {
  const requests: string[][] = [];
  const timers: (() => void)[] = [];
  const state = { now: 0, isFailing: false };
  const reader = createSparklineReader({
    get: async (path) => {
      const series = new URLSearchParams(path.split('?')[1]).getAll('series');
      requests.push(series);
      if (state.isFailing) {
        throw new ApiError('Unreachable.', { status: 0 });
      }
      return {
        sparklines: series.map((text) => {
          const [jobId = '', name = ''] = text.split(':', 2);
          return { jobId, name, positions: [1, 2], values: [requests.length, 0], isFinal: isFinal(jobId) };
        }),
      };
    },
    onChange: () => {},
    now: () => state.now,
    after: (_ms, callback) => void timers.push(callback),
  });
  const fire = async () => {
    for (const timer of timers.splice(0)) {
      timer();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reader, requests, state, fire };
}

it('asks for all rows at once, and not for tunings and jobs without a metric', async () => {
  const { reader, requests, fire } = start();
  const tuning = { ...jobOf('tuning'), tuning: {} as JobView['tuning'] };
  reader.show([jobOf('one', { loss: 'val/loss&x' }), viewOf('none', {}), tuning, jobOf('two')]);
  await fire();
  expect(requests).toEqual([['one:val/loss&x', 'two:loss']]);
  expect(reader.lineOf('two')).toMatchObject({ name: 'loss', values: [1, 0] });
  expect(reader.lineOf('none')).toBeUndefined();
});

it('asks for at most 50 jobs at once, and for the others after that', async () => {
  const { reader, requests, fire } = start();
  reader.show(Array.from({ length: 70 }, (_, index) => jobOf(`job${index}`)));
  await fire();
  await fire();
  expect(requests.map(({ length }) => length)).toEqual([50, 20]);
});

it('asks again for a job that reported, at most every 15 seconds, and never once its line is final', async () => {
  const { reader, requests, state, fire } = start((jobId) => jobId === 'ended');
  const show = async (heardTime: string) => {
    reader.show([jobOf('ended', { heardTime }), jobOf('running', { heardTime }), jobOf('quiet')]);
    await fire();
  };
  await show('1');
  state.now = 14_000;
  await show('2');
  expect(requests).toHaveLength(1);
  state.now = 16_000;
  await show('2');
  expect(requests.slice(1)).toEqual([['running:loss']]);
});

it('keeps the lines while requests fail, and asks again', async () => {
  const { reader, requests, state, fire } = start();
  reader.show([jobOf('one')]);
  await fire();
  Object.assign(state, { now: 20_000, isFailing: true });
  reader.show([jobOf('one', { heardTime: 'later' })]);
  await fire();
  expect(reader.lineOf('one')).toMatchObject({ values: [1, 0] });
  Object.assign(state, { now: 40_000, isFailing: false });
  reader.show([jobOf('one', { heardTime: 'later' })]);
  await fire();
  expect([requests.length, reader.lineOf('one')?.values]).toEqual([3, [3, 0]]);
});

it('requests nothing when the screen is left', async () => {
  const { reader, requests, fire } = start();
  reader.show([jobOf('one')]);
  reader.end();
  await fire();
  expect(requests).toEqual([]);
});

it('draws the course of a metric within its box, for constant and for huge values, too', () => {
  expect(pathOf({ positions: [0, 10, 20], values: [4, 2, 3] })).toBe('M2.0 2.0L32.0 26.0L62.0 14.0');
  expect(pathOf({ positions: [5, 6], values: [1, 1] })).toBe('M2.0 14.0L62.0 14.0');
  expect(pathOf({ positions: [0, 1], values: [-1.7e308, 1.7e308] })).toBe('M2.0 26.0L62.0 2.0');
});
