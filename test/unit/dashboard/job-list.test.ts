import { expect, it } from 'vitest';
import { chunksOf, EMPTY_LIST, type JobList, mergeChunk, unreadToken } from '#dashboard/screens/jobs/job-list.ts';
import { viewOf } from '../../support/cli/test-cloud.ts';

const job = (ms: number) => viewOf(`job_${ms}`, { createTime: new Date(ms).toISOString() });
const tokenAfter = (ms: number) => `${ms}.job_${ms}`;

type Answer = { readonly after: string | null; readonly isLast?: boolean };

function read(list: JobList, ms: readonly number[], { after: token, isLast = false }: Answer): JobList {
  const end = ms.at(-1);
  const page = { jobs: ms.map(job), ...(isLast || end === undefined ? {} : { nextPageToken: tokenAfter(end) }) };
  return mergeChunk(list, page, { token, etag: null });
}

const idsOf = ({ jobs }: JobList) => jobs.map(({ jobId }) => jobId);

it('adds pages until the list is complete', () => {
  const first = read(EMPTY_LIST, [9, 8], { after: null });
  const all = read(first, [7, 6], { after: tokenAfter(8), isLast: true });
  expect([unreadToken(EMPTY_LIST), unreadToken(first), unreadToken(all)]).toEqual([undefined, tokenAfter(8), null]);
  expect(idsOf(all)).toEqual(['job_9', 'job_8', 'job_7', 'job_6']);
});

it('adds a new job without losing the one that it pushed off the first page', () => {
  const all = read(read(EMPTY_LIST, [9, 8], { after: null }), [7, 6], { after: tokenAfter(8), isLast: true });
  const updated = read(all, [10, 9], { after: null });
  expect(idsOf(updated)).toEqual(['job_10', 'job_9', 'job_8', 'job_7', 'job_6']);
  expect(unreadToken(updated)).toBeNull();
});

it('removes a job that no longer satisfies the filter', () => {
  const all = read(read(EMPTY_LIST, [9, 8], { after: null }), [7, 6], { after: tokenAfter(8), isLast: true });
  expect(idsOf(read(all, [6], { after: tokenAfter(8), isLast: true }))).toEqual(['job_9', 'job_8', 'job_6']);
});

it('finds the pages of the jobs on the screen', () => {
  const all = read(read(read(EMPTY_LIST, [9, 8], { after: null }), [7, 6], { after: tokenAfter(8) }), [5, 4], {
    after: tokenAfter(6),
    isLast: true,
  });
  const tokens = (first: number, last: number) => chunksOf(all, first, last).map(({ token }) => token);
  expect([tokens(0, 1), tokens(2, 2), tokens(1, 4), tokens(0, 99)]).toEqual([
    [null],
    [tokenAfter(8)],
    [null, tokenAfter(8), tokenAfter(6)],
    [],
  ]);
});
