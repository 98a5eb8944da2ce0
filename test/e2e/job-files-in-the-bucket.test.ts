import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest();
});

afterAll(() => cloud.stop());

async function countWaiting(): Promise<number> {
  const status = (await (await fetch(`${cloud.endpoints.admin}/status`)).json()) as {
    queues: readonly { topic: string; waiting: number }[];
  };
  return status.queues.find(({ topic }) => topic === 'uploads')?.waiting ?? 0;
}

it('a problem found by intake names the field as in the format of the file', async () => {
  await cloud.upload('own/job.yaml', 'module: trainer.task\noutput: gs://no-such-bucket/out\npackages: [p.tar.gz]\n');
  const { problems } = await cloud.awaitReport('own/job.yaml.report.json');
  expect(problems).toMatchObject([{ code: 'JOB_DIR_BUCKET_MISSING', path: 'output' }]);
});

it('YAML and JSON files without a job are ignored, also invalid and empty ones', async () => {
  const others = ['alone/data.json', 'alone/empty.yaml', 'alone/broken.yml'];
  for (const [index, name] of others.entries()) {
    await cloud.upload(name, ['[1, 2', '', 'a: [unclosed'][index] ?? '');
  }
  await expect.poll(countWaiting).toBe(0);
  const reports = others.map((name) => cloud.readObject(cloud.endpoints.uploadBucket, `${name}.report.json`));
  expect(await Promise.all(reports)).toEqual([undefined, undefined, undefined]);
});

describe('a file that starts nothing by itself gets a report that says what would', () => {
  const NOTEBOOK = JSON.stringify({ cells: [], metadata: {}, nbformat: 4, nbformat_minor: 5 });

  it.each<[string, string | Uint8Array, string, RegExp]>([
    ['train.py', 'print(1)', 'WAITING JOB_FILE_MISSING', /\{module: train\.py, packages: \[train\.py\]/],
    ['ada/train.py', 'print(1)', 'WAITING JOB_FILE_MISSING', /job\.yaml beside it/],
    ['requirements.txt', 'numpy', 'WAITING JOB_FILE_MISSING', /names requirements\.txt and the program/],
    ['train.ipynb', NOTEBOOK, 'REFUSED NOTEBOOK', /jupyter nbconvert --to script/],
    ['ada/b/train.ipynb', NOTEBOOK, 'REFUSED NOTEBOOK', /jupyter nbconvert --to script/],
    ['notes.txt', 'Call Ada.', 'REFUSED NOT_AN_ARCHIVE', /with a job\.yaml at its root/],
    ['model.bin', new Uint8Array([1, 2, 3]), 'REFUSED NOT_AN_ARCHIVE', /with a job\.yaml at its root/],
    ['data.json', '[1, 2', 'REFUSED NOT_A_JOB_FILE', /Name a job file job\.yaml/],
    ['pod.yaml', 'apiVersion: v1\nkind: Pod\n', 'REFUSED FILE_OF_OTHER_TOOL', /coming-from-other-tools\.md#kubernetes/],
  ])('%s', async (name, body, ...[expected, remedy]) => {
    const [verdict, code] = expected.split(' ');
    await cloud.upload(name, body);
    const report = await cloud.awaitReport(`${name}.report.json`);
    expect(report).toMatchObject({ verdict, problems: [{ code, remedy: expect.stringMatching(remedy) }] });
  });

  it('a program runs with the job file that its report shows', async () => {
    await cloud.upload('shown/hello.py', 'print("hello")');
    const { problems } = await cloud.awaitReport('shown/hello.py.report.json');
    const [, jobFile = ''] = /with (\{.*\}), which/.exec(problems[0]?.remedy ?? '') ?? [];
    await cloud.upload('shown/job.yaml', jobFile);
    const { jobId } = await cloud.awaitReport('shown/job.yaml.report.json', ({ verdict }) => verdict === 'ACCEPTED');
    expect(await cloud.awaitJob(jobId ?? '')).toMatchObject({ state: 'SUCCEEDED' });
    expect((await cloud.readLog(jobId ?? '')).map(({ text }) => text)).toContain('hello');
  });

  it('but not one of a folder, a report, or a package of `jobs submit`', async () => {
    const others = [`digits/packages/${'0'.repeat(64)}/task.py`, 'tree/task.py', 'tree/notes.txt', 'tree/train.ipynb'];
    await cloud.upload('tree/README.md', '');
    for (const name of [...others, 'train.py.report.json']) {
      await cloud.upload(name, '{}');
    }
    await expect.poll(countWaiting).toBe(0);
    const reports = [...others, 'train.py.report.json', 'notes.txt.report.json'].map((name) =>
      cloud.readObject(cloud.endpoints.uploadBucket, `${name}.report.json`),
    );
    expect(await Promise.all(reports)).toEqual(reports.map(() => undefined));
  });
});
