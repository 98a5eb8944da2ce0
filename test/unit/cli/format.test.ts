import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../cli/client/gs-uri.ts';
import { measureStages, stageOf } from '../../../cli/commands/demo/demo-stages.ts';
import { formatAgo, formatDuration, formatMoment } from '../../../cli/render/format.ts';
import { replicaOf, viewOf } from '../../support/cli/test-cloud.ts';

describe('times', () => {
  it.each([
    [0, '0.0 s'],
    [840, '0.8 s'],
    [9_999, '10.0 s'],
    [10_400, '10 s'],
    [59_700, '1 min'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [3_661_000, '1 h 1 min'],
    [2 * 86_400_000 + 3_600_000, '2 d 1 h'],
  ])('%i ms is %s', (durationMs, expected) => {
    expect(formatDuration(durationMs)).toBe(expected);
  });

  it('are relative and absolute, and never in the future', () => {
    const time = '2026-11-21T06:00:00.000Z';
    expect(formatMoment(time, Date.parse(time) + 180_000)).toBe('3 min ago (2026-11-21 06:00:00 UTC)');
    expect(formatAgo(time, Date.parse(time) - 5_000)).toBe('just now');
  });
});

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
