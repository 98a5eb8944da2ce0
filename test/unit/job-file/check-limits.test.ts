import { describe, expect, it } from 'vitest';
import { checkLimits } from '#shared/job-file/validation/check-limits.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { custom, machinesOf, pools } from '../../support/job-file/read-machines.ts';

const DAY_SECONDS = 86_400;

function limitsOf(text: string) {
  const { draft, findings } = machinesOf(text);
  const limits = checkLimits(draft, findings);
  return { limits, problems: findings.problems.map(describeProblem), warnings: findings.warnings.map(describeProblem) };
}

function scheduled(scheduling: string): string {
  return custom(`masterType: standard, scheduling: {${scheduling}}`);
}

describe('limits', () => {
  it('default to 7 days of running, no wait limit and no restarts', () => {
    expect(limitsOf(custom('masterType: standard')).limits).toEqual({
      maxRunningMs: 7 * DAY_SECONDS * 1_000,
      maxWaitMs: null,
      restartsMax: 0,
      keepOnFailureMs: 0,
    });
  });

  it('are supported in every dialect', () => {
    const limits = { maxRunningMs: 5_400_000, maxWaitMs: 7_200_000, restartsMax: 0, keepOnFailureMs: 0 };
    expect(limitsOf(scheduled('maxRunningTime: 5400s, maxWaitTime: 7200s')).limits).toEqual(limits);
    const vertex = `${pools('machineSpec: {machineType: n1-standard-4}')}\nscheduling: {timeout: 5400s, maxWaitDuration: 7200s}`;
    expect(limitsOf(vertex).limits).toEqual(limits);
    expect(limitsOf('module: t\nmaxRuntime: 90m\nmaxWait: 2h\nretries: 3').limits).toEqual({
      ...limits,
      restartsMax: 3,
    });
  });

  it('on waiting with FLEX_START default to one day, and 0 means no limit, as on Vertex AI', () => {
    const flexible = (rest: string) =>
      limitsOf(`${pools('machineSpec: {machineType: a2-highgpu-1g}')}\nscheduling: {strategy: FLEX_START${rest}}`);
    expect(flexible('').limits?.maxWaitMs).toBe(DAY_SECONDS * 1_000);
    expect(flexible(', maxWaitDuration: 7200s').limits?.maxWaitMs).toBe(7_200_000);
    expect(flexible(', maxWaitDuration: 0s')).toEqual({
      limits: expect.objectContaining({ maxWaitMs: null }),
      problems: [],
      warnings: [],
    });
  });

  it.each([
    ['0s', false],
    ['0.5s', true],
    [`${119 * DAY_SECONDS}s`, true],
    [`${119 * DAY_SECONDS + 1}s`, false],
    ['2h', false],
  ])('on running: %s', (maxRunningTime, isValid) => {
    const { limits, problems } = limitsOf(scheduled(`maxRunningTime: ${maxRunningTime}`));
    expect(limits !== null).toBe(isValid);
    expect(problems).toEqual(isValid ? [] : ['INVALID_DURATION trainingInput.scheduling.maxRunningTime']);
  });

  it.each([
    ['1799s', ['SHORT_MAX_WAIT_TIME trainingInput.scheduling.maxWaitTime']],
    ['1800s', []],
  ])('on waiting that AI Platform would reject cause a warning: %s', (maxWaitTime, warnings) => {
    expect(limitsOf(scheduled(`maxWaitTime: ${maxWaitTime}`)).warnings).toEqual(warnings);
    expect(limitsOf(`module: t\nmaxWait: ${maxWaitTime}`).warnings).toEqual([]);
  });

  it.each([
    [-1, false],
    [0, true],
    [100, true],
    [101, false],
  ])('on restarts: %i', (retries, isValid) => {
    const { limits, problems } = limitsOf(`module: t\nretries: ${retries}`);
    expect(limits?.restartsMax === retries && problems.length === 0).toBe(isValid);
    expect(problems).toEqual(isValid ? [] : ['INVALID_RESTARTS retries']);
  });

  it.each([
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    // Zero is the same as no value.
    ['0s', 0],
    ['0', 0],
    ['0m', 0],
  ])('on keeping a failed VM: %s', (keepOnFailure, ms) => {
    const { limits, problems } = limitsOf(`module: t\nkeepOnFailure: ${keepOnFailure}`);
    expect([limits?.keepOnFailureMs, problems]).toEqual([ms, []]);
  });

  it.each(['86401s', '-1s', 'no'])('on keeping a failed VM reject %s', (keepOnFailure) => {
    const { limits, problems } = limitsOf(`module: t\nkeepOnFailure: ${keepOnFailure}`);
    expect([limits, problems]).toEqual([null, ['INVALID_DURATION keepOnFailure']]);
  });

  const FLEX_POOL = pools('machineSpec: {machineType: a2-highgpu-1g}');
  const TUNE = 'tune: {metric: loss, trials: 2, parameters: {lr: [1, 2]}}';
  it.each([
    ['AI Platform', (kept: string) => custom(`masterType: standard, dropforgeKeepOnFailure: ${kept}`), undefined],
    ['Vertex AI', (kept: string) => `${FLEX_POOL}\ndropforgeKeepOnFailure: ${kept}`, undefined],
    [
      'Flex-start VMs',
      (kept: string) => `${FLEX_POOL}\nscheduling: {strategy: FLEX_START}\ndropforgeKeepOnFailure: ${kept}`,
      'KEPT_FLEX_START dropforgeKeepOnFailure',
    ],
    ['trials', (kept: string) => `module: t\n${TUNE}\nkeepOnFailure: ${kept}`, 'KEPT_TRIAL keepOnFailure'],
  ])('on keeping a failed VM may be 0s for %s', (_, fileOf, problem) => {
    expect(limitsOf(fileOf('0s'))).toMatchObject({ limits: { keepOnFailureMs: 0 }, problems: [] });
    expect(limitsOf(fileOf('60s')).problems).toEqual(problem === undefined ? [] : [problem]);
  });

  it('with a placeholder are reported as PLACEHOLDER', () => {
    expect(limitsOf(scheduled('maxRunningTime: "<timeout>"')).problems).toEqual([
      'PLACEHOLDER trainingInput.scheduling.maxRunningTime',
    ]);
  });
});
