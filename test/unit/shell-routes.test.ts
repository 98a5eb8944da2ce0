import { afterEach, describe, expect, it } from 'vitest';
import type { Job } from '#shared/domain/job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../support/api/api-under-test.ts';
import { exampleIntake } from '../support/api/example-intake.ts';
import { jobAfter } from '../support/domain/example-job.ts';
import { searchingTuning } from '../support/domain/example-tuning.ts';
import { keptJob, runningJob } from '../support/domain/kept-job.ts';

let api: ApiUnderTest;
afterEach(() => api.close());

async function open(job: Job, { hasShellAccess = true } = {}): Promise<void> {
  const identifyCaller = async () => 'ada@example.com';
  api = await openApiUnderTest({ intake: { ...exampleIntake, hasShellAccess }, identifyCaller });
  await api.ports.jobs.create(job, []);
}

const openShell = (body: object = {}) => api.post('/v1/jobs/digits:openShell', body);
const release = () => api.post('/v1/jobs/digits:release', {});
const recorded = (message: string) =>
  api.logged.map((line) => JSON.parse(line)).filter((entry) => entry.message === message);

describe('a request for a shell', () => {
  it('names the VM, and is recorded with its user and command', async () => {
    await open(runningJob);
    const { status, body } = await openShell({ replica: 'master-0', command: 'nvidia-smi -l' });
    expect([status, body]).toEqual([
      200,
      {
        jobId: 'digits',
        replica: 'master-0',
        vmName: runningJob.instances[0]?.vmName,
        zone: 'us-central1-a',
        isKept: false,
      },
    ]);
    expect(recorded('shell opened')).toEqual([
      expect.objectContaining({
        ...{ kind: 'decision', decision: 'SHELL_OPENED', by: 'ada@example.com' },
        ...{ command: 'nvidia-smi -l', vmName: body.vmName },
      }),
    ]);
    expect((await api.ports.jobs.read('digits'))?.record.history.at(-1)).toMatchObject({
      event: 'SHELL_OPENED',
      by: 'ada@example.com',
      replica: 'master-0',
    });
  });

  it('is refused where shells are off, with how to turn them on', async () => {
    await open(runningJob, { hasShellAccess: false });
    const { status, body } = await openShell();
    expect([status, body.error.message]).toEqual([403, 'Shell access is off in this deployment.']);
    expect(body.error.remedy).toContain('shell_access');
  });

  it('is refused for a body that is not one, a replica that does not exist and a job without a VM', async () => {
    await open(runningJob);
    expect((await openShell({ command: 'x'.repeat(2_001) })).status).toBe(400);
    expect((await openShell({ replica: 'worker-9' })).body.error.message).toBe('Job digits has no replica worker-9.');
    expect((await api.post('/v1/jobs/nothing:openShell', {})).status).toBe(404);
  });
});

describe('a request about a tuning', () => {
  it('is answered with its trials, which have the VMs', async () => {
    await open(runningJob);
    await api.ports.tunings.create({ ...searchingTuning(), tuningId: 'search' }, []);
    const { status, body } = await api.post('/v1/jobs/search:openShell', {});
    expect([status, body.error.remedy]).toEqual([409, 'Choose one of its trials: dropforge trials search.']);
  });
});

describe('a request to release a VM', () => {
  it('ends the time of a VM that is kept, once, and is recorded', async () => {
    await open(keptJob);
    expect(await release()).toMatchObject({ status: 200, body: { kept: { releaseTime: '1970-01-01T00:01:40.000Z' } } });
    expect((await api.ports.jobs.read('digits'))?.record.history.at(-1)).toMatchObject({
      event: 'RELEASE_REQUESTED',
      by: 'ada@example.com',
    });
    const again = await release();
    expect([again.status, again.body.error.message]).toEqual([409, 'Job digits keeps no VM.']);
  });

  it.each([
    ['is ending', keptJob],
    ['has ended', jobAfter(keptJob, ['RELEASE_REQUESTED', 90_000], ['VMS_GONE', 91_000])],
  ])('of a job that %s needs no action', async (_, job) => {
    await open(job.status === 'CLOSING' ? jobAfter(job, ['RELEASE_REQUESTED', 90_000]) : job);
    const { status, body } = await release();
    expect([status, body.error.remedy]).toEqual([409, 'No action needed.']);
  });

  it('of a job that is running says how to end it', async () => {
    await open(runningJob);
    const { status, body } = await release();
    expect([status, body.error.remedy]).toEqual([409, 'To end the job, cancel it: dropforge jobs cancel digits.']);
  });
});
