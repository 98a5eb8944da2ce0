import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud, trialOf, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  cloud.jobs.set('search', [viewOf('search', { tuning: tuningOf({ endedTrialCount: 4 }) })]);
  cloud.trials.push(
    trialOf('1', { objective: 0.91, costUsd: 0.03 }),
    trialOf('2', { objective: 0.97, costUsd: 0.01, parameters: { optimizer: 'momentum', momentum: 0.9, hidden: 8 } }),
    trialOf('3', { state: 'FAILED', objective: null, step: null, reason: 'NON_ZERO_EXIT: It "broke", twice.' }),
    trialOf('4', { objective: 0.42, isTrialStoppedEarly: true, step: 3 }),
    trialOf('5', { state: 'ACTIVE', objective: 0.99, endTime: null, costUsd: null }),
  );
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: cloud.dataDir });
const trialsIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s/)[0]);

describe('dropforge trials', () => {
  it('lists all pages, best first, with a column per parameter', async () => {
    const { code, stdout } = await cli('trials', 'search');
    expect(code).toBe(0);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head?.split(/\s{2,}/)).toEqual([
      ...['TRIAL', 'STATE', 'accuracy', 'STEP', 'learning_rate', 'hidden', 'optimizer', 'momentum', 'DURATION', 'COST'],
    ]);
    expect(lines[0]?.split(/\s{2,}/)).toEqual([
      ...['2', 'SUCCEEDED', '0.97', '30', '-', '8', 'momentum', '0.9', '2 min 30 s', '$0.01'],
    ]);
    expect(trialsIn(stdout)).toEqual(['2', '1', '4', '3', '5']);
    expect(lines[2]).toContain('SUCCEEDED, stopped early');
  });

  it('puts the lowest value first if it is minimized', async () => {
    cloud.jobs.set('search', [viewOf('search', { tuning: tuningOf({ goal: 'MINIMIZE' }) })]);
    expect(trialsIn((await cli('trials', 'search')).stdout)).toEqual(['4', '1', '2', '3', '5']);
  });

  it.each([
    ['trial', ['1', '2', '3', '4', '5']],
    ['~trial', ['5', '4', '3', '2', '1']],
    ['cost', ['2', '3', '4', '1', '5']],
    ['accuracy', ['4', '1', '2', '5', '3']],
    ['hidden', ['2', '1', '3', '4', '5']],
    ['parameters.momentum', ['2', '1', '3', '4', '5']],
  ])('sorts by %s, with missing values last', async (column, order) => {
    expect(trialsIn((await cli('trials', 'search', `--sort-by=${column}`)).stdout)).toEqual(order);
  });

  it('suggests the nearest column', async () => {
    const { code, stderr } = await cli('trials', 'search', '--sort-by', 'learning_rat');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Did you mean "learning_rate"?')]);
  });

  it('lists some of them as JSON, and says how many there are', async () => {
    const { stdout, stderr } = await cli('trials', 'search', '--limit=1', '--format=json');
    expect(JSON.parse(stdout)).toEqual([cloud.trials[1]]);
    expect(stderr).toBe('There are 5 trials: use --limit 5 to list all of them.\n');
  });

  it('prints CSV with a column per field', async () => {
    const { stdout } = await cli('trials', 'search', '--format=csv', '--sort-by=trial');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe(
      'trialId,jobId,state,parameters.learning_rate,parameters.hidden,parameters.optimizer,objective,step,' +
        'isTrialStoppedEarly,startTime,endTime,costUsd,reason,repeats,parameters.momentum',
    );
    expect(lines[3]).toContain('"NON_ZERO_EXIT: It ""broke"", twice."');
    expect((await cli('trials', 'search', '--format=csv(trialId,objective)')).stdout).toContain(
      'trialId,objective\n2,0.97\n',
    );
  });

  it('shows one trial with its values and measurements', async () => {
    const { stdout } = await cli('trials', 'search', '4');
    expect(stdout).toContain('Trial 4 of search  SUCCEEDED');
    expect(stdout).toContain('accuracy    0.42 at step 3');
    expect(stdout).toMatch(/^ {2}learning_rate\s+0\.03125$/m);
    expect(stdout).toMatch(/^ {2}2\s+2 s\s+0\.2$/m);
    expect(stdout).toContain('jobs stream-logs search --trial 4');
  });

  it.each([
    [['trials', 'search', '9'], 1, 'There is no such trial.'],
    [['trials', 'search', 'x'], 2, "'x' is not the id of a trial"],
    [['trials', 'search', '--limit=0'], 2, '--limit must be a whole number from 1 to 10000'],
    [['trials', 'search', '--export=a.log'], 2, '--export a.log: use a name that ends with .csv'],
    [['trials', 'search', '1', '--sort-by=cost'], 2, 'are for the list of trials'],
    [['trials', 'search', '--export=none/a.csv'], 1, 'cannot be written'],
  ])('rejects %j', async (argv, code, message) => {
    expect(await cli(...argv)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });

  it('says of another job that it has no trials, and of a trial where to look', async () => {
    cloud.jobs.set('one', [viewOf('one')]);
    cloud.jobs.set('search_trial_2', [viewOf('search_trial_2', { trial: { tuningId: 'search', trialId: '2' } })]);
    expect(await cli('trials', 'one')).toMatchObject({ code: 1, stderr: expect.stringContaining('jobs describe one') });
    expect((await cli('trials', 'search_trial_2')).stderr).toContain('trials search 2');
  });
});

describe('exporting trials', () => {
  it('writes all of them as CSV', async () => {
    expect(await cli('trials', 'search', '--export=t.csv')).toMatchObject({
      code: 0,
      stdout: '5 trials are in t.csv.\n',
    });
    const text = await readFile(join(cloud.dataDir, 't.csv'), 'utf8');
    expect(text).toBe((await cli('trials', 'search', '--format=csv')).stdout);
  });

  it('writes no text into a CSV that a spreadsheet would run as a formula', async () => {
    cloud.trials.push(trialOf('6', { objective: -0.5, parameters: { a: '=cmd()', b: '@x', c: '-1+2', d: '-1e-3' } }));
    const { stdout } = await cli('trials', 'search', '--format=csv');
    expect(stdout).toMatch(/,-0\.5,.*'=cmd\(\),'@x,'-1\+2,-1e-3/);
  });
});
