import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runCli, startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING', labels: { team: 'vision' } })]);
  cloud.jobs.set('two', [viewOf('two', { placement: null })]);
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir });

describe('results in gcloud’s formats', () => {
  it.each(['jobs', 'custom-jobs'])(
    '%s print tab-separated values, with empty text for missing fields',
    async (group) => {
      expect((await cli(group, 'describe', 'one', '--format=value(state)')).stdout).toBe('RUNNING\n');
      const { stdout } = await cli(
        group,
        'list',
        '--format',
        'value(jobId, placement.zone, machines.0.count,none.at.all)',
      );
      expect(stdout).toBe('one\tus-central1-a\t1\t\ntwo\t\t1\t\n');
    },
  );

  it('are YAML documents, one per job', async () => {
    const [described] = parseAllDocuments((await cli('jobs', 'describe', 'one', '--format=yaml')).stdout);
    const job = described?.toJS();
    expect(job).toEqual({ ...viewOf('one', { state: 'RUNNING', labels: { team: 'vision' } }), history: [] });
    const { stdout } = await cli('jobs', 'list', '--format=yaml');
    expect(stdout).toMatch(/^---\njobId: one\n/);
    expect(parseAllDocuments(stdout).map((document) => document.get('jobId'))).toEqual(['one', 'two']);
  });
});

describe('gcloud flags of job commands', () => {
  it.each([
    ['state=RUNNING', 'one'],
    ['state:running', 'one'],
    ['state!=RUNNING', 'two'],
    ['labels.team="vision"', 'one'],
    ['state=SUCCEEDED AND jobId:tw', 'two'],
    ['state=FAILED', ''],
  ])('--filter %s', async (filter, found) => {
    const { code, stdout } = await cli('jobs', 'list', '--format=value(jobId)', '--filter', filter);
    expect([code, stdout]).toEqual([0, found === '' ? '' : `${found}\n`]);
  });

  it('are accepted if the result is the same', async () => {
    const flags = ['--project=test-project', '--region=us-central1', '-q', '--verbosity=error'];
    for (const words of [
      ['list', '--page-size=5'],
      ['describe', 'two'],
      ['wait', 'two'],
      ['cancel', 'two'],
    ]) {
      expect((await cli('jobs', ...words, ...flags)).code).toBe(0);
    }
    expect((await cli('jobs', 'list', '--region=us-central1')).stderr).toBe(
      '--region has no effect: the list includes all regions.\n',
    );
  });

  it.each([
    [['list', '--flatten=labels'], /--flatten is not supported/],
    [['list', '--project=other'], /does not match the cloud's project/],
    [['cancel', 'one', '--project=other'], /does not match the cloud's project/],
  ])('are rejected if the result would differ: %j', async (words, message) => {
    expect(await cli('jobs', ...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(cloud.requests).toEqual([]);
  });

  it('cancel several jobs, and continue after one that does not exist', async () => {
    expect(await cli('jobs', 'cancel', 'one', 'none', 'two', '--format=value(jobId)')).toMatchObject({
      code: 1,
      stdout: 'one\ntwo\n',
      stderr: expect.stringMatching(/^error: none: /),
    });
  });

  it('stop waiting after --timeout without affecting the job', async () => {
    const { code, stderr } = await cli('jobs', 'wait', 'one', '--timeout=1');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: Job one did not end within 1 s. It is still running.\n/),
    ]);
  });
});
