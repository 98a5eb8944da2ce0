import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../cli/client/gs-uri.ts';
import { measureStages, stageOf } from '../../../cli/commands/demo/demo-stages.ts';
import { replicaOf, viewOf } from '../../support/cli/test-cloud.ts';

describe('patterns of object names', () => {
  it.each([
    ['run/model.json', 'run/*.json', true],
    ['run/deep/model.json', 'run/*.json', false],
    ['run/deep/model.json', '**.json', true],
    ['run/deep/model.json', 'run/**/model.json', true],
    ['a1', 'a?', true],
    ['a/', 'a?', false],
    ['part-3', 'part-[1-4]', true],
    ['part-3', 'part-[!1-4]', false],
    ['a.txt', 'a*txt', true],
    ['a+b.(txt)', 'a+*.(txt)', true],
    ['aab.(txt)', 'a+*.(txt)', false],
  ])('%s and %s: %s', (name, pattern, expected) => {
    expect(matchesPattern(name, pattern)).toBe(expected);
  });
});

describe('the stages of a demo', () => {
  it('are derived from the state and the phase of the current attempt', () => {
    const running = { state: 'RUNNING', attempt: 2 };
    expect(stageOf(viewOf('one', { state: 'QUEUED', replicas: [replicaOf()] }))).toBe('waiting');
    expect(stageOf(viewOf('one', { ...running, replicas: [replicaOf({ attempt: 1 })] }))).toBe('creating the VM');
    expect(stageOf(viewOf('one', { ...running, replicas: [replicaOf({ attempt: 2 })] }))).toBe('training');
    expect(stageOf(viewOf('one', { state: 'SUCCEEDED', replicas: [replicaOf({ phase: 'EXITED' })] }))).toBeNull();
  });

  it('are measured between polls, in the order of an uninterrupted job', () => {
    const samples = [
      { stage: 'training', at: 0 },
      { stage: 'waiting', at: 1_000 },
      { stage: 'training', at: 1_500 },
      { stage: 'training', at: 2_500 },
      { stage: null, at: 4_500 },
    ] as const;
    expect([...measureStages(samples)]).toEqual([
      ['waiting', 500],
      ['training', 4_000],
    ]);
  });
});
