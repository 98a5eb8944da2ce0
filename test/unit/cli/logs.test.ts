import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../shared/ports/log-store.ts';
import {
  type CliResult,
  runCli,
  startTestCloud,
  type TestCloud,
  tuningOf,
  viewOf,
} from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir });

const logEntry = (text: string, overrides: Partial<LogEntry> = {}): LogEntry => ({
  jobId: 'one',
  attempt: 1,
  replica: 'master-0',
  stream: 'stdout',
  severity: 'INFO',
  at: Date.UTC(2026, 10, 21, 6, 0, 7, 45),
  text,
  ...overrides,
});

describe('dropforge jobs stream-logs', () => {
  it('prints the log of one replica, by any of its names, and names the replicas if there is none of that name', async () => {
    const machines = [
      { role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null },
      { role: 'worker', count: 2, machineType: 'n1-standard-4', accelerator: null },
    ];
    cloud.jobs.set('one', [viewOf('one', { machines })]);
    cloud.logs.push(
      logEntry('of the master'),
      ...['a', 'b', 'c'].map((text) => logEntry(text, { replica: 'worker-1' })),
    );
    for (const name of ['worker-1', 'worker-replica-1', 'workerpool1-1']) {
      const { code, stdout } = await cli('jobs', 'stream-logs', 'one', '--task-name', name);
      expect([code, stdout.match(/[abc]$/gm)]).toEqual([0, ['a', 'b', 'c']]);
      expect(stdout).not.toContain('of the master');
    }
    const { code, stderr } = await cli('jobs', 'stream-logs', 'one', '--task-name=worker-2');
    expect(code).toBe(2);
    expect(stderr).toContain('Job one has no replica worker-2. Its replicas: master-0, worker-0, worker-1.');
  });

  it('prints all pages until the job has ended, including its last entries', async () => {
    cloud.logs.push(logEntry('epoch 1'), logEntry('epoch 2'), logEntry('epoch 3'));
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one')]);
    let polls = 0;
    cloud.onAnswer = (request) => {
      polls += request === 'GET /v1/jobs/one' ? 1 : 0;
      if (polls === 2 && cloud.logs.length === 3) {
        cloud.logs.push(logEntry('the end', { stream: 'agent', severity: 'ERROR' }));
      }
    };
    const { code, stdout, stderr } = await cli('jobs', 'stream-logs', 'one');
    expect(stdout.split('\n')).toEqual([
      '06:00:07.045 master-0  epoch 1',
      '06:00:07.045 master-0  epoch 2',
      '06:00:07.045 master-0  epoch 3',
      '06:00:07.045 master-0 agent  the end',
      '',
    ]);
    expect([code, stderr]).toEqual([0, 'Job one ended: SUCCEEDED.\n']);
  });

  it('prints the last lines of what was printed before, and then all that follow', async () => {
    cloud.logs.push(logEntry('epoch 1'), logEntry('epoch 2'));
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one')]);
    let polls = 0;
    cloud.onAnswer = (request) => {
      polls += request === 'GET /v1/jobs/one' ? 1 : 0;
      if (polls === 2 && cloud.logs.length === 2) {
        cloud.logs.push(logEntry('epoch 3'), logEntry('epoch 4'), logEntry('epoch 5'));
      }
    };
    const epochsOf = ({ stdout }: CliResult) => stdout.match(/\d$/gm)?.join('');
    expect(epochsOf(await cli('logs', 'one', '--tail=1'))).toBe('2345');
    expect(epochsOf(await cli('logs', 'one', '--tail=3'))).toBe('345');
  });

  it.each(['--tail=3', '--since=10m', '--no-agent'])('rejects %s for a tuning, which has no log', async (flag) => {
    cloud.jobs.set('one', [viewOf('one', { tuning: tuningOf() })]);
    const { code, stderr } = await cli('logs', 'one', flag);
    expect([code, stderr]).toEqual([2, expect.stringContaining('one is a tuning job, which has no log of its own')]);
  });

  it('prints what is not older than --since, and without the lines of the agent if it is told so', async () => {
    const at = Date.now();
    cloud.logs.push(
      logEntry('old', { at: at - 700_000 }),
      logEntry('setup', { at, stream: 'agent' }),
      logEntry('new', { at }),
    );
    cloud.jobs.set('one', [viewOf('one')]);
    const textsOf = async (...flags: string[]) => (await cli('logs', 'one', ...flags)).stdout.match(/\w+$/gm);
    expect(await textsOf('--since', '10m')).toEqual(['setup', 'new']);
    expect(await textsOf('--no-agent')).toEqual(['old', 'new']);
    expect(await textsOf('--no-agent', '--since=10m', '--tail=1')).toEqual(['new']);
    expect(await textsOf()).toEqual(['old', 'setup', 'new']);
  });

  it.each(['10 minutes', '', '-1m'])('rejects --since=%s', async (text) => {
    const { code, stderr } = await cli('logs', 'one', `--since=${text}`);
    expect([code, stderr]).toEqual([
      2,
      `error: --since must be a duration, such as 30s, 10m or 2h, or a time such as 2026-01-31T10:00Z, not '${text}'.\n`,
    ]);
  });

  it('without a name, prints the log of the newest job and says which one it is', async () => {
    const { code, stderr } = await cli('logs');
    expect([code, stderr]).toEqual([1, expect.stringContaining('error: There are no jobs yet.')]);
    cloud.logs.push(logEntry('epoch 1'));
    cloud.jobs.set('one', [viewOf('one')]);
    expect(await cli('logs')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('epoch 1'),
      stderr: 'The log of one, the newest job:\nJob one ended: SUCCEEDED.\n',
    });
  });

  it('prints one JSON line per entry', async () => {
    cloud.logs.push(logEntry('epoch 1'));
    cloud.jobs.set('one', [viewOf('one')]);
    expect((await cli('jobs', 'stream-logs', 'one', '--format', 'json')).json()).toEqual([logEntry('epoch 1')]);
  });
});
