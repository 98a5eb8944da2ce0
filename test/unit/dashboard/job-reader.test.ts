import { expect, it } from 'vitest';
import type { JobsPage } from '#dashboard/screens/jobs/job-list.ts';
import { createJobReader } from '#dashboard/screens/jobs/job-reader.ts';
import type { Change } from '#shared/ports/change-feed.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { viewOf } from '../../support/cli/test-cloud.ts';

const record = (jobId: string): Change => ({ jobId, kind: 'RECORD', version: '1' });
const heartbeat = (jobId: string): Change => ({ jobId, kind: 'HEARTBEAT', version: '1' });
const job = (ms: number, change: Partial<JobView> = {}) =>
  viewOf(`job_${ms}`, { createTime: new Date(ms).toISOString(), ...change });

/** A reader that has read the first page of a list, of which the first two jobs are on the screen. */
async function open(jobs: readonly JobView[], nextPageToken?: string) {
  const requests: string[] = [];
  const waiting: (() => void)[] = [];
  const answers: JobsPage[] = [{ jobs, ...(nextPageToken !== undefined && { nextPageToken }) }];
  const get = async (path: string) => {
    requests.push(path);
    return { isUnchanged: false, data: answers.shift() ?? { jobs: [] }, etag: null } as const;
  };
  const after = (_: number, callback: () => void) => void waiting.push(callback);
  const reader = createJobReader('&state=RUNNING', { get, onChange: () => {}, after });
  const idle = async () => {
    for (let isIdle = false; !isIdle; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const callbacks = waiting.splice(0);
      callbacks.forEach((callback) => void callback());
      isIdle = callbacks.length === 0;
    }
  };
  reader.readMore();
  await idle();
  reader.show(0, 1);
  requests.length = 0;
  return { reader, requests, answers, idle, ids: () => reader.list().jobs.map(({ jobId }) => jobId) };
}

it('reads only the jobs again that changed, adds new ones and removes those that no longer match', async () => {
  const { reader, requests, answers, idle, ids } = await open([job(3), job(2), job(1)]);
  answers.push({ jobs: [job(4), job(2, { state: 'FAILED' })] });
  reader.update([record('job_4'), record('job_3'), record('job_2')]);
  await idle();
  expect(requests).toEqual(['/v1/jobs?view=PROGRESS&state=RUNNING&id=job_4&id=job_3&id=job_2']);
  expect(ids()).toEqual(['job_4', 'job_2', 'job_1']);
  expect(reader.list().jobs[1]?.state).toBe('FAILED');
});

it('requests nothing when nothing changed, or only VMs of jobs that are not on the screen reported', async () => {
  const { reader, requests, idle } = await open([job(3), job(2), job(1)]);
  reader.update([]);
  reader.update([heartbeat('job_1'), heartbeat('absent')]);
  await idle();
  expect(requests).toEqual([]);
  reader.update([heartbeat('job_2')]);
  expect(requests).toEqual(['/v1/jobs?view=PROGRESS&state=RUNNING&id=job_2']);
});

it('reads what changes during a request with the next one', async () => {
  const { reader, requests, answers, idle } = await open([job(1)]);
  answers.push({ jobs: [job(1)] }, { jobs: [job(1)] });
  reader.update([record('job_1')]);
  reader.update([record('job_1')]);
  reader.update([record('job_1')]);
  await idle();
  expect(requests).toHaveLength(2);
});

it('reads the pages on the screen again if everything may have changed, or too much did', async () => {
  const { reader, requests, answers, idle } = await open([job(1)]);
  answers.push({ jobs: [job(1)] }, { jobs: [job(1)] });
  reader.update('ALL');
  await idle();
  reader.update(Array.from({ length: 101 }, (_, index) => record(`new_${index}`)));
  await idle();
  const page = '/v1/jobs?view=PROGRESS&pageSize=100&state=RUNNING';
  expect(requests).toEqual([page, page]);
});

it('ignores a changed job of the part that is not read yet', async () => {
  const { reader, answers, idle, ids } = await open([job(3), job(2)], '2.job_2');
  answers.push({ jobs: [job(1)] });
  reader.update([record('job_1')]);
  await idle();
  expect(ids()).toEqual(['job_3', 'job_2']);
});
