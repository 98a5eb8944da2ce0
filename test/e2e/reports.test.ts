import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Report } from '#shared/protocol/report.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const HOLDER = 'import time\ntime.sleep(600)\n';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ syncSeconds: 0.3, vmsMax: 4 });
});
afterAll(() => cloud.stop());

const beside = (name: string, isWanted?: (report: Report) => boolean) =>
  cloud.awaitReport(`${name}.report.json`, isWanted);

/** The report that another one names by its whole address. */
function readNamed({ earlierReport = '' }: Report, isWanted?: (report: Report) => boolean): Promise<Report> {
  const bucket = `gs://${cloud.endpoints.uploadBucket}/`;
  expect(earlierReport.startsWith(bucket), earlierReport).toBe(true);
  return cloud.awaitReport(earlierReport.slice(bucket.length), isWanted);
}

const isRunning = ({ job }: Report) => job?.state === 'RUNNING';

it('a changed package under the name of an ended job is refused where its user looks, and the job keeps a report', async () => {
  await cloud.upload('digits.tar.gz', await packProgram('print(1)\n', jobFile('digits')));
  await beside('digits.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');

  await cloud.upload('digits.tar.gz', await packProgram('print(2)\n', jobFile('digits')));

  const refused = await beside('digits.tar.gz', ({ verdict }) => verdict === 'REFUSED');
  expect(refused).toMatchObject({ jobId: 'digits', problems: [{ code: 'JOB_ID_TAKEN' }], job: null });
  expect(await readNamed(refused)).toMatchObject({ verdict: 'ACCEPTED', job: { state: 'SUCCEEDED' } });
});

it('the same package once more is the job that it was, though another one was refused in between', async () => {
  const bytes = await packProgram('print(1)\n', jobFile('again'));
  await cloud.upload('again.tar.gz', bytes);
  await beside('again.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');
  await cloud.upload('again.tar.gz', await packProgram('print(2)\n', jobFile('again')));
  const refused = await beside('again.tar.gz', ({ verdict }) => verdict === 'REFUSED');

  await cloud.upload('again.tar.gz', bytes);

  const accepted = await beside('again.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');
  expect(BigInt(accepted.generation ?? 0)).toBeGreaterThan(BigInt(refused.generation ?? 0));
});

it('a running job whose package is replaced goes on telling of itself, in its own report', async () => {
  await cloud.upload('busy.tar.gz', await packProgram(HOLDER, jobFile('busy')));
  await beside('busy.tar.gz', isRunning);
  await cloud.upload('busy.tar.gz', await packProgram('print(2)\n', jobFile('busy')));
  const refused = await beside('busy.tar.gz', ({ verdict }) => verdict === 'REFUSED');
  expect(await readNamed(refused)).toMatchObject({ job: { state: 'RUNNING' } });

  await cloud.cancel('busy');

  await readNamed(refused, ({ job }) => job?.state === 'CANCELLED');
  expect(await beside('busy.tar.gz')).toEqual(refused);
});

it('the report of the newest upload is not replaced by news of the job before it', async () => {
  const bytes = await packProgram(HOLDER, { module: 'trainer.task' });
  await cloud.upload('twice.tar.gz', bytes);
  const first = await beside('twice.tar.gz', isRunning);
  await cloud.upload('twice.tar.gz', bytes);
  const second = await beside('twice.tar.gz', (report) => report.jobId !== first.jobId && isRunning(report));

  await cloud.cancel(first.jobId ?? '');

  const ended = await readNamed(second, ({ job }) => job?.state === 'CANCELLED');
  expect(ended.jobId).toBe(first.jobId);
  expect(await beside('twice.tar.gz')).toMatchObject({ jobId: second.jobId, job: { state: 'RUNNING' } });
  await cloud.cancel(second.jobId ?? '');
  await beside('twice.tar.gz', ({ job }) => job?.state === 'CANCELLED');
});
