import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContainerProgram, JobSpec } from '#shared/domain/job-spec.ts';
import { formatValue, trialRefOf, trialSpecOf } from '#shared/tuning/trial-job.ts';
import { runningTrial, searchingTuning } from '../../support/domain/example-tuning.ts';

const tuning = searchingTuning();
const withArgs: JobSpec = {
  ...tuning.spec,
  labels: { team: 'vision' },
  program: { ...tuning.spec.program, args: ['--epochs=3', 'data'] },
};

describe('the job of a trial', () => {
  it('is that of the tuning, with the values as arguments after its own', () => {
    const trial = runningTrial(7, { values: { rate: 0.01, layers: 3, optimizer: 'adam' } });
    const spec = trialSpecOf({ spec: withArgs }, trial);
    expect(spec).toEqual({
      ...withArgs,
      jobId: 'digits_trial_7',
      jobDir: 'gs://jobs/digits/7',
      study: null,
      program: {
        ...withArgs.program,
        args: ['--epochs=3', 'data', '--rate=0.01', '--layers=3', '--optimizer=adam'],
      },
    });
  });

  it('has the values in the programs of all groups, those of containers too', () => {
    const container: ContainerProgram = {
      kind: 'CONTAINER',
      imageUri: 'gcr.io/p/evaluator',
      image: null,
      packageUris: [],
      module: null,
      command: [],
      args: ['evaluate'],
      environment: {},
    };
    const [master] = withArgs.replicaGroups;
    const replicaGroups = [master, { ...master, role: 'evaluator', program: container }] as const;
    const spec = trialSpecOf({ spec: { ...withArgs, replicaGroups } }, runningTrial(1, { values: { rate: 0.5 } }));
    expect(spec.replicaGroups[0]).toEqual(master);
    expect(spec.replicaGroups[1]?.program).toEqual({ ...container, args: ['evaluate', '--rate=0.5'] });
  });

  it.each(['--help', 'a b', '', "it's", '"', '$HOME', 'x=y'])('passes the text %j as one argument', (text) => {
    const { program } = trialSpecOf(tuning, runningTrial(1, { values: { mode: text } }));
    expect(program.args).toEqual([`--mode=${text}`]);
  });

  it('belongs to its tuning, whose metrics it reports', () => {
    expect(trialRefOf(tuning, runningTrial(7))).toEqual({ tuningId: 'digits', ordinal: 7, metricIds: ['accuracy'] });
  });
});

describe('a number', () => {
  it.each([
    [3, '3'],
    [-0, '0'],
    [-12, '-12'],
    [1e21, '1000000000000000000000'],
    [0.1, '0.1'],
    [1e-7, '1e-7'],
    [0.1 + 0.2, '0.30000000000000004'],
  ])('%d is passed as %s', (number, text) => {
    expect(formatValue(number)).toBe(text);
  });

  it('reads back as the same number, as Python parses it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const text = formatValue(number);
        expect(Number(text)).toBe(number + 0);
        expect(text).toMatch(Number.isInteger(number) ? /^-?\d+$/ : /^-?\d+(\.\d+)?(e-?\d+)?$/);
      }),
    );
  });
});
