import { expect, it } from 'vitest';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { VERDICT_WAIT, waitForVerdict } from '#cli/submit/upload-job.ts';
import type { Report } from '#shared/protocol/report.ts';

const SOURCE = { bucket: 'uploads', name: 'digits/job.yaml' };
const FAST = { pollMs: 1, noticeMs: 3, waitingMs: 20, timeoutMs: 60_000 };

/** Waits for the verdict of a cloud that answers each read with the next of these, and with the last one from then on. */
async function waitFor(verdicts: readonly (Report['verdict'] | null)[], wait = FAST) {
  const notices: string[] = [];
  let reads = 0;
  const readText: ObjectClient['readText'] = async () => {
    const verdict = verdicts[Math.min(reads, verdicts.length - 1)] ?? null;
    reads += 1;
    const report = { source: 'gs://uploads/digits/job.yaml', jobId: 'digits', verdict, problems: [], warnings: [] };
    return verdict === null ? undefined : JSON.stringify({ ...report, job: null });
  };
  const { signal } = new AbortController();
  const options = { signal, wait, onSlow: (notice: string) => notices.push(notice) };
  const report = await waitForVerdict({ readText } as ObjectClient, SOURCE, options);
  return { verdict: report.verdict, notices, reads };
}

it('waits for a verdict as long as the functions that inspect packages may run', () => {
  expect(VERDICT_WAIT).toMatchObject({ waitingMs: 30_000, timeoutMs: 300_000 });
});

it('says once, after a moment, that the packages are being inspected and that Ctrl-C ends the waiting only', async () => {
  const { verdict, notices } = await waitFor([...Array<null>(30).fill(null), 'ACCEPTED']);
  expect(verdict).toBe('ACCEPTED');
  expect(notices).toEqual([expect.stringMatching(/are being inspected.*Ctrl-C ends the waiting/)]);
});

it('says nothing if the verdict is there at once', async () => {
  expect(await waitFor(['REFUSED'])).toEqual({ verdict: 'REFUSED', notices: [], reads: 1 });
});

it('does not wait as long for packages that are still to be uploaded', async () => {
  expect(await waitFor(['WAITING'])).toMatchObject({ verdict: 'WAITING' });
});

it('fails with the command that shows the verdict later', async () => {
  await expect(waitFor([null], { ...FAST, timeoutMs: 60 })).rejects.toThrow(
    /no verdict after 0\.06 s\. Check again later with .*report\.json/,
  );
});
