import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProfileView } from '../../../shared/protocol/profile-view.ts';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: cloud.dataDir });

const NAME = 'dropforge-profiles/digits/attempt-1-worker-1-1.speedscope.json';

const REQUESTED: ProfileView = {
  jobId: 'digits',
  profileId: 'attempt-1-worker-1-1',
  state: 'REQUESTED',
  message: '',
  replica: 'worker-1',
  seconds: 5,
  requestTime: '2026-11-21T06:44:49.000Z',
  file: null,
  verdict: null,
};

const own = { name: 'train', file: '/var/lib/dropforge/sources/0/trainer/task.py', line: 31 };

const RECORDED: ProfileView = {
  ...REQUESTED,
  state: 'RECORDED',
  file: { uri: `gs://jobs/${NAME}`, name: NAME, sizeBytes: 2 },
  verdict: {
    code: 'INPUT_BOUND',
    summary: 'Input-bound: the training waits for its data.',
    evidence: ['The main thread was 97 % in loading data or waiting for it.'],
    remedy: 'Use more workers.',
    shares: { STARTUP: 0, INPUT: 0.97, SAVE: 0, WAIT_FOR_OTHERS: 0, NATIVE: 0.03, PYTHON: 0 },
    topFrames: [
      {
        name: 'select',
        file: '/usr/lib/python3.11/selectors.py',
        line: 415,
        fraction: 0.97,
        kind: 'INPUT',
        calledFrom: own,
      },
      { ...own, fraction: 0.03, kind: 'NATIVE', calledFrom: null },
    ],
  },
};

describe('dropforge profile', () => {
  it('shows the progress, the verdict, the functions and where the file is', async () => {
    cloud.profiles.push(REQUESTED, { ...REQUESTED, state: 'RECORDING' }, RECORDED);
    const { code, stdout, stderr } = await cli('profile', 'digits', '--seconds=5', '--replica=worker-1');
    expect(code).toBe(0);
    expect(stderr).toBe('Waiting for the next heartbeat of worker-1 of job digits.\nRecording 5 s.\nRecorded.\n');
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('Input-bound: the training waits for its data.');
    expect(lines).toContain('Remedy: Use more workers.');
    expect(lines.find((line) => line.startsWith('97.0 %'))?.split(/\s{2,}/)).toEqual([
      '97.0 %',
      'input',
      'select',
      'python3.11/selectors.py:415',
      'train trainer/task.py:31',
    ]);
    expect(stdout).toContain(`gs://jobs/${NAME}. Open it at https://www.speedscope.app.`);
    expect(cloud.requests).toContain('POST /v1/jobs/digits:profile');
  });

  it('prints all of it as JSON, and writes the file where it is told to', async () => {
    cloud.profiles.push(RECORDED);
    await cloud.store.write({ bucket: 'jobs', name: NAME }, Buffer.from('{}'));
    const { stdout } = await cli('profile', 'digits', '--output=own.json', '--format=json');
    expect(JSON.parse(stdout)).toEqual(RECORDED);
    expect(await readFile(join(cloud.dataDir, 'own.json'), 'utf8')).toBe('{}');
  });

  it('fails with the reason if the agent could not record it', async () => {
    cloud.profiles.push({ ...REQUESTED, state: 'FAILED', message: 'The program has no Python process.' });
    const { code, stderr } = await cli('profile', 'digits');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Job digits could not be profiled. The program has no Python process.'),
    ]);
  });

  it('fails if the attempt ends meanwhile, or the file cannot be written', async () => {
    cloud.profiles.push(REQUESTED);
    cloud.onAnswer = () => cloud.profiles.splice(0);
    const ended = await cli('profile', 'digits');
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('ended before its profile was saved')]);
    cloud.onAnswer = () => {};
    cloud.profiles.push(RECORDED);
    await cloud.store.write({ bucket: 'jobs', name: NAME }, Buffer.from('{}'));
    const unwritable = await cli('profile', 'digits', '--output=missing/own.json');
    expect([unwritable.code, unwritable.stderr]).toEqual([1, expect.stringContaining('check --output')]);
  });

  it.each([['--seconds=0'], ['--seconds=301'], ['--seconds=soon']])('rejects %s as wrong usage', async (flag) => {
    const { code, stderr } = await cli('profile', 'digits', flag);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--seconds must be a whole number from 1 to 300')]);
  });
});
