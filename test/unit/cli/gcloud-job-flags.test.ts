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

describe('results in the forms of gcloud', () => {
  it.each(['jobs', 'custom-jobs'])(
    '%s have values with tabs between, and nothing for what is not there',
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

  it('are YAML: a document for one job, and one for each of a list', async () => {
    const { warnings: _, ...job } =
      parseAllDocuments((await cli('jobs', 'describe', 'one', '--format=yaml')).stdout).map(
        (document) => document.toJS() as Record<string, unknown>,
      )[0] ?? {};
    expect(job).toEqual(viewOf('one', { state: 'RUNNING', labels: { team: 'vision' } }));
    const { stdout } = await cli('jobs', 'list', '--format=yaml');
    expect(stdout).toMatch(/^---\njobId: one\n/);
    expect(parseAllDocuments(stdout).map((document) => document.get('jobId'))).toEqual(['one', 'two']);
  });
});

describe('flags of gcloud for jobs', () => {
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

  it('are taken where the answer is the same', async () => {
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
      '--region has no effect: jobs of all regions are in one list.\n',
    );
  });

  it.each([
    [['list', '--sort-by=state'], /--sort-by cannot be honoured: the newest job always comes first/],
    [['list', '--project=other'], /is not this cloud's project/],
    [['cancel', 'one', '--project=other'], /is not this cloud's project/],
  ])('are refused where it would be another: %j', async (words, message) => {
    expect(await cli('jobs', ...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(cloud.requests).toEqual([]);
  });

  it('cancel several jobs, and go on after one that is not there', async () => {
    expect(await cli('jobs', 'cancel', 'one', 'none', 'two', '--format=value(jobId)')).toMatchObject({
      code: 1,
      stdout: 'one\ntwo\n',
      stderr: expect.stringMatching(/^error: none: /),
    });
  });

  it('give up waiting, and leave the job alone', async () => {
    const { code, stderr } = await cli('jobs', 'wait', 'one', '--timeout=1');
    expect([code, stderr]).toEqual([1, 'error: Job one has not ended within 1 s; it goes on.\n']);
  });
});
