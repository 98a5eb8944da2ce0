import { describe, expect, it } from 'vitest';
import type { Problem } from '#shared/protocol/problem.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { fixture, readOwn } from '../../support/job-file/read-own-job.ts';

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path}:${line}`;
}

describe('syntax errors', () => {
  it('are reported all at once, each with its location', () => {
    expect(readOwn(fixture('own-mistakes.yaml')).problems.map(summarize)).toEqual([
      'UNKNOWN_FIELD jobID:1',
      'UNKNOWN_FIELD pythonModule:2',
      'UNKNOWN_FIELD modul:3',
      'WRONG_TYPE command:4',
      'GPU_NOT_NAMED gpu:5',
      'UNKNOWN_FIELD machine_type:6',
      'UNKNOWN_FIELD workers.replicaCount:7',
      'UNKNOWN_FIELD workers.region:7',
      'WRONG_TYPE spot:8',
      'UNKNOWN_FIELD trials:9',
      'WRONG_TYPE retries:10',
      'WRONG_TYPE disk:11',
      'WRONG_TYPE reservation:12',
      'WRONG_TYPE parameterServers:13',
      'UNKNOWN_FIELD tune.maxTrials:15',
      'UNKNOWN_VALUE tune.goal:16',
      'UNKNOWN_VALUE tune.algorithm:17',
      'UNKNOWN_FIELD tune.parameters.learning_rate.minValue:19',
      'WRONG_TYPE tune.parameters.learning_rate.max:19',
      'WRONG_TYPE tune.parameters.dropout:20',
    ]);
  });

  it('include jobId instead of name', () => {
    const { draft, problems } = readOwn('jobId: a\nmodule: train\nenv: {A: b}\n');
    expect(draft?.dialect).toBe('dropforge');
    expect(problems).toMatchObject([{ code: 'UNKNOWN_FIELD', path: 'jobId', remedy: 'Write name.' }]);
  });

  it('include spot with flexStart, unless one of them is false', () => {
    const { problems } = readOwn('module: t\nspot: true\nflexStart: true');
    expect(problems.map(describeProblem)).toEqual(['CONFLICTING_FIELDS flexStart']);
    expect(readOwn('module: t\nspot: false\nflexStart: true').draft?.strategy?.value).toBe('FLEX_START');
  });

  it.each([
    ['jobID: a', 'Write name.'],
    ['pythonModule: a', 'Write module.'],
    ['masterType: a', 'Write machine.'],
    ['machine_type: a', 'Write machine.'],
    ['job_dir: a', 'Write output.'],
    ['accelerators: a', 'Write gpu.'],
    ['use_spot: true', 'Write spot: true.'],
    ['scheduling: {}', 'Write maxRuntime, maxWait, spot and flexStart.'],
    ['modul: a', '"module"'],
    ['outptu: a', '"output"'],
    ['metric: a', 'under tune'],
    ['tune: {gpu: T4}', 'under the top level'],
    ['tune: {metrc: a}', '"metric"'],
    ['tune: {earlyStopping: true, stopping: asha}', 'Remove one of the two.'],
    ['tune: {stopping: convex}', 'Write asha, median or none.'],
    ['tune: {parameters: {lr: {min: 1, max: 2, when: {optimiser: sgd}}, optimizer: [sgd]}}', '"optimizer"'],
    ['tune: {parameters: {a: {values: [1], when: {b: 1}}, b: {values: [1], when: {a: 1}}}}', 'Remove one of the con'],
    ['tune: {parameters: {a: {values: [1], when: {a: 1}}}}', 'Remove one of the conditions.'],
    ['tune: {parameters: {a: {values: [1], when: {b: 1, c: 1}}, b: [1], c: [1]}}', 'Write one parameter'],
    ['tune: {parameters: {a: {values: [1], when: {}}, b: [1]}}', 'Write one parameter'],
    ['tune: {parameters: {a: {values: [1], when: b}, b: [1]}}', 'a mapping of a parameter'],
    ['gpu: {name: T4}', 'Write type.'],
    ['command: python train.py', '[python, train.py]'],
    ['disk: 200 PB', 'GiB'],
    ['spot: $SPOT', 'Replace it with a value.'],
    ['spot: constructor', 'Write true or false.'],
    ['tune: {algorithm: $ALGORITHM}', 'Replace it with a value.'],
  ])('%s: reports %s', (text, hint) => {
    const { problems } = readOwn(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.some(({ remedy }) => remedy.includes(hint))).toBe(true);
  });
});
