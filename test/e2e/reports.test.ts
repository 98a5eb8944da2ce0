import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Report } from '#shared/protocol/report.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const HOLDER = 'import time\ntime.sleep(600)\n';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300 }, vmsMax: 4 });
});
afterAll(() => cloud.stop());

const awaitReportOf = (name: string, matches?: (report: Report) => boolean) =>
  cloud.awaitReport(`${name}.report.json`, matches);

/** The report that another report names by its URI. */
function readNamed({ earlierReport = '' }: Report, matches?: (report: Report) => boolean): Promise<Report> {
  const bucket = `gs://${cloud.endpoints.uploadBucket}/`;
  expect(earlierReport.startsWith(bucket), earlierReport).toBe(true);
  return cloud.awaitReport(earlierReport.slice(bucket.length), matches);
}

const isRunning = ({ job }: Report) => job?.state === 'RUNNING';

it('a changed package with the name of an ended job is rejected beside the upload, and the job keeps a report', async () => {
  await cloud.upload('digits.tar.gz', await packProgram('print(1)\n', jobFile('digits')));
  await awaitReportOf('digits.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');

  await cloud.upload('digits.tar.gz', await packProgram('print(2)\n', jobFile('digits')));

  const rejected = await awaitReportOf('digits.tar.gz', ({ verdict }) => verdict === 'REFUSED');
  expect(rejected).toMatchObject({ jobId: 'digits', problems: [{ code: 'JOB_ID_TAKEN' }], job: null });
  expect(await readNamed(rejected)).toMatchObject({ verdict: 'ACCEPTED', job: { state: 'SUCCEEDED' } });
});

it('the same package uploaded again is the same job, even if another one was rejected in between', async () => {
  const bytes = await packProgram('print(1)\n', jobFile('again'));
  await cloud.upload('again.tar.gz', bytes);
  await awaitReportOf('again.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');
  await cloud.upload('again.tar.gz', await packProgram('print(2)\n', jobFile('again')));
  const rejected = await awaitReportOf('again.tar.gz', ({ verdict }) => verdict === 'REFUSED');

  await cloud.upload('again.tar.gz', bytes);

  const accepted = await awaitReportOf('again.tar.gz', ({ job }) => job?.state === 'SUCCEEDED');
  expect(BigInt(accepted.generation ?? 0)).toBeGreaterThan(BigInt(rejected.generation ?? 0));
});

it('a running job whose package is replaced continues to be reported, in a separate report', async () => {
  await cloud.upload('busy.tar.gz', await packProgram(HOLDER, jobFile('busy')));
  await awaitReportOf('busy.tar.gz', isRunning);
  await cloud.upload('busy.tar.gz', await packProgram('print(2)\n', jobFile('busy')));
  const rejected = await awaitReportOf('busy.tar.gz', ({ verdict }) => verdict === 'REFUSED');
  expect(await readNamed(rejected)).toMatchObject({ job: { state: 'RUNNING' } });

  await cloud.cancel('busy');

  await readNamed(rejected, ({ job }) => job?.state === 'CANCELLED');
  expect(await awaitReportOf('busy.tar.gz')).toEqual(rejected);
});

it('the report of the newest upload is not replaced by updates of the previous job', async () => {
  const bytes = await packProgram(HOLDER, { module: 'trainer.task' });
  await cloud.upload('twice.tar.gz', bytes);
  const first = await awaitReportOf('twice.tar.gz', isRunning);
  await cloud.upload('twice.tar.gz', bytes);
  const second = await awaitReportOf('twice.tar.gz', (report) => report.jobId !== first.jobId && isRunning(report));

  await cloud.cancel(first.jobId ?? '');

  const ended = await readNamed(second, ({ job }) => job?.state === 'CANCELLED');
  expect(ended.jobId).toBe(first.jobId);
  expect(await awaitReportOf('twice.tar.gz')).toMatchObject({ jobId: second.jobId, job: { state: 'RUNNING' } });
  await cloud.cancel(second.jobId ?? '');
  await awaitReportOf('twice.tar.gz', ({ job }) => job?.state === 'CANCELLED');
});
