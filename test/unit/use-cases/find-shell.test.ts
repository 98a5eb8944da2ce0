import { describe, expect, it } from 'vitest';
import type { Job } from '#shared/domain/job.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { findShell } from '#shared/use-cases/shell/find-shell.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { keptJob, runningJob } from '../../support/domain/kept-job.ts';

const vmName = vmNameOf('digits', 1, { role: 'master', index: 0 });
const target = { jobId: 'digits', replica: 'master-0', vmName, zone: 'us-central1-a' };

/** The job with this many workers, of which every VM exists. */
function withWorkers<J extends Job>(job: J, count: number): J {
  const [master] = job.spec.replicaGroups;
  const replicaGroups = [master, { ...master, role: 'worker', count }] as const;
  return { ...job, spec: { ...job.spec, replicaGroups } };
}

describe('the VM in which a shell is opened', () => {
  it('is the master’s by default, in the current attempt', () => {
    expect(findShell(runningJob, undefined)).toEqual({ outcome: 'FOUND', target: { ...target, isKept: false } });
    expect(findShell(runningJob, 'master-0')).toEqual({ outcome: 'FOUND', target: { ...target, isKept: false } });
  });

  it('is the one that is kept after a failure, and no other', () => {
    expect(findShell(keptJob, undefined)).toEqual({ outcome: 'FOUND', target: { ...target, isKept: true } });
    expect(findShell(keptJob, 'worker-1')).toMatchObject({
      outcome: 'NONE',
      remedy: 'Leave out --replica, or write --replica=master-0.',
    });
  });

  it('must be a replica of the job', () => {
    expect(findShell(runningJob, 'worker-1')).toEqual({
      outcome: 'NONE',
      message: 'Job digits has no replica worker-1.',
      remedy: 'Choose one of master-0.',
    });
  });

  it('is that of the replica that is named', () => {
    const worker = vmNameOf('digits', 1, { role: 'worker', index: 1 });
    expect(findShell(withWorkers(runningJob, 2), 'worker-1')).toMatchObject({ target: { vmName: worker } });
    expect(findShell(keptJob, 'master-0')).toMatchObject({ outcome: 'FOUND', target: { isKept: true } });
  });

  it.each([
    [19, /worker-18\.$/],
    [20, /worker-18 and 1 others\.$/],
  ])('is chosen from twenty replicas that are named, of %i workers and a master', (count, ending) => {
    expect(findShell(withWorkers(runningJob, count), 'ps-0')).toMatchObject({ remedy: expect.stringMatching(ending) });
  });

  it('does not exist before the job is placed, nor after it was released', () => {
    const placed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000]);
    for (const job of [queuedJob(), placed]) {
      expect(findShell(job, undefined)).toMatchObject({ remedy: 'Try again when it is RUNNING.' });
    }
    const released = jobAfter(keptJob, ['RELEASE_REQUESTED', 90_000]);
    expect(findShell(released, undefined)).toMatchObject({
      message: 'Job digits has ended, and its VMs are deleted.',
      remedy: expect.stringContaining('keepOnFailure: 30m'),
    });
    expect(findShell(jobAfter(released, ['VMS_GONE', 91_000]), undefined)).toMatchObject({
      message: 'Job digits has ended, and its VMs are deleted.',
    });
  });
});
