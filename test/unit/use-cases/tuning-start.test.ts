import { expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { openTuning } from '../../support/use-cases/tuning-under-test.ts';

const REPORT = { type: 'REPORT_TRIAL', jobId: 'digits_trial_1', tuningId: 'digits', ordinal: 1 } as const;

it('a tuning tries the values that the user gave first, each once, though a trial is lost and repeated', async () => {
  const start = [{ rate: 0.5 }, { rate: 0.25 }, { rate: 0.125 }];
  using scope = new DisposableStack();
  const other = openTuning({ start, parallelTrialsMax: 1 });
  scope.defer(() => other.close());
  await other.create();
  await other.deliverAll();
  await other.endTrial(1, { cause: causeOf('STOCKOUT', 'No machine.') });
  await other.deliver(REPORT);
  await other.deliverAll();
  for (const ordinal of [2, 3, 4]) {
    await other.endTrial(ordinal, { accuracies: [0.5] });
    await other.deliver({ ...REPORT, jobId: `digits_trial_${ordinal}`, ordinal });
    await other.deliverAll();
  }
  const trials = await other.ports.tunings.listTrials('digits', { afterOrdinal: 0, countMax: 10 });
  expect(trials.slice(0, 4).map(({ values }) => values.rate)).toEqual([0.5, 0.5, 0.25, 0.125]);
  expect(trials).toHaveLength(5);
});
