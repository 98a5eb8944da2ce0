import { describe, expect, it } from 'vitest';
import { sortRows } from '#dashboard/components/column.ts';
import { mergeAttempts } from '#dashboard/screens/compare/merge-attempts.ts';
import { lastValuesOf, namesOf, readArguments } from '#dashboard/screens/compare/parameters.ts';
import { renamed } from '#dashboard/screens/job/rename-clone.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { progressOf } from '#shared/views/describe/progress.ts';
import { SERIES_INDEX } from '../../support/cli/metric-answers.ts';
import { replicaOf, viewOf } from '../../support/cli/test-cloud.ts';
import { exampleMetric } from '../../support/page/example-series.ts';

const [exampleEntry] = SERIES_INDEX.series as [(typeof SERIES_INDEX)['series'][number]];

describe('a comparison', () => {
  it('reads arguments in every common form', () => {
    expect(readArguments(['--lr=0.1', '--epochs', '10', '--fast', '-n', '-5', 'data.csv'])).toEqual({
      lr: '0.1',
      epochs: '10',
      fast: 'true',
      n: '-5',
      'argument 1': 'data.csv',
    });
  });

  it('shows the parameters that differ, also those that one job does not have', () => {
    const all = [
      { lr: '0.1', machine: 'a' },
      { lr: '0.2', machine: 'a', fast: 'true' },
    ];
    expect(namesOf(all, true)).toEqual(['lr', 'fast']);
    expect(namesOf(all, false)).toEqual(['lr', 'machine', 'fast']);
  });

  it('shows the value of the master, as the list of jobs does, and of another replica what only that one reports', () => {
    const reported = (replica: string, name: string, value: number) => ({
      ...exampleEntry,
      ...{ replica, name, last: { ...exampleEntry.last, value } },
    });
    const series = [
      reported('evaluator-0', 'accuracy', 0.9),
      reported('evaluator-0', 'loss', 3),
      reported('master-0', 'loss', 1),
      reported('worker-0', 'loss', 2),
    ];
    expect(lastValuesOf(series)).toEqual({ accuracy: 0.9, loss: 1 });
  });

  it('draws the steps that an attempt repeated once', () => {
    const attempt = (number: number, from: number, to: number) => ({
      ...exampleMetric('loss', { attempt: number, from, to }),
      pointCount: to - from,
    });
    const { steps, values } = mergeAttempts([attempt(2, 3, 6), attempt(1, 0, 5)]);
    expect(steps).toEqual([0, 1, 2, 3, 4, 5]);
    expect(values).toHaveLength(6);
  });
});

const COMMAND = 'custom-jobs create' as const;

describe('a clone', () => {
  it('has its new id also as its display name and at the end of its job directory, if flags give them', () => {
    const flags = ['--display-name=a_2', '--job-dir=gs://jobs/a_2', '--module-name=a_2', '--', '--name=a_2'];
    const submission = { jobId: 'a_2', jobFile: 'name: a\n', fileName: 'job.yaml', command: COMMAND, flags };
    expect(renamed(submission, 'b')).toEqual({
      ...submission,
      jobId: 'b',
      flags: ['--display-name=b', '--job-dir=gs://jobs/b', '--module-name=a_2', '--', '--name=a_2'],
    });
  });

  it.each(['', '(', 'a.b'])('keeps its flags while the id is typed: %j', (typed) => {
    const flags = ['--display-name=a_2', '--job-dir=gs://jobs/a_2'];
    const submission = { jobId: 'a_2', jobFile: null, fileName: 'job.yaml', command: COMMAND, flags };
    expect(renamed(renamed(submission, typed), 'a_2')).toEqual(submission);
  });
});

describe('the progress of a job', () => {
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  const phases = [{ phase: 'RUNNING' as const, startTime: at(0), endTime: null }];
  const timeline = [{ attempt: 1, zone: null, provisioningModel: null, cause: null, message: null, phases }];
  const view = viewOf('a', {
    state: 'RUNNING',
    endTime: null,
    timeline,
    replicas: [replicaOf({ step: 25, stepsMax: 100 })],
  });

  it('ends when the remaining steps have run at the pace so far', () => {
    expect(progressOf(view, 100_000)).toEqual({ step: 25, stepsMax: 100, etaMs: 300_000 });
  });

  it('has no end if the program does not say how many steps there are', () => {
    expect(progressOf({ ...view, replicas: [replicaOf({ step: 25, stepsMax: null })] }, 1)?.etaMs).toBeNull();
    expect(progressOf({ ...view, replicas: [] }, 1)).toBeNull();
  });
});

describe('a table of trials', () => {
  it('has trials without a value last, in both directions', () => {
    const trial = (trialId: string, objective: number | null) => ({ trialId, objective }) as TrialView;
    const trials = [trial('1', null), trial('2', 0.3), trial('3', 0.9)];
    const columns = [{ header: '', by: 'objective', value: ({ objective }: TrialView) => objective, cell: () => '' }];
    const order = (isDescending: boolean) =>
      sortRows(trials, columns, { by: 'objective', isDescending }).map(({ trialId }) => trialId);
    expect([order(true), order(false)]).toEqual([
      ['3', '2', '1'],
      ['2', '3', '1'],
    ]);
  });
});
