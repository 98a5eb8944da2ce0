import { describe, expect, it } from 'vitest';
import { type Cause, causeOf, remedyOf } from '#shared/domain/cause.ts';
import type { QuotaLimit } from '#shared/domain/event.ts';
import { type Job, stateOf } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { QUOTA_WAIT_MS_MAX } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const JOB_UPDATE = { type: 'JOB_UPDATE', jobId: 'digits', state: 'QUEUED', attempt: 1 };

const full = (zone: string) => causeOf('STOCKOUT', `${zone} is full.`);
const quotaOf = (metric: string, limit: number) => causeOf('QUOTA_EXCEEDED', `Quota '${metric}' exceeded: ${limit}.`);

/** The job after a placement that failed with this cause. */
function failPlacement(job: Job, cause: Cause, exceeded: { quota?: QuotaLimit; demand?: number | null } = {}) {
  const { quota, demand: quotaDemand = null } = exceeded;
  const awake = jobAfter(job, ['DEADLINE_PASSED', 1_000_000]);
  const placed = jobAfter(awake, ['PLACEMENT_CHOSEN', 1_000_000]);
  const failure = { cause, zonesAvailable: [], ...(quota && { quota }) };
  return transition(placed, { ...eventsFor(placed, 1_001_000).PLACEMENT_FAILED, failure, quotaDemand });
}

function updatesOf(job: Job, causes: readonly Cause[]): readonly boolean[] {
  let current = job;
  return causes.map((cause) => {
    const { job: next, effects } = failPlacement(current, cause);
    current = next;
    return effects.some(({ type }) => type === 'JOB_UPDATE');
  });
}

describe('the reason for waiting', () => {
  it('is published when it is first known, although the job stays QUEUED', () => {
    const { job, effects } = failPlacement(queuedJob(), full('us-central1-a'));
    expect(stateOf(job)).toBe('QUEUED');
    expect(effects.at(-1)).toEqual(JOB_UPDATE);
  });

  it.each<{ readonly what: string; readonly causes: readonly Cause[]; readonly published: readonly boolean[] }>([
    {
      what: 'once for any number of zones that are out of capacity',
      causes: [full('us-central1-a'), full('us-central1-b'), full('us-central1-a')],
      published: [true, false, false],
    },
    {
      what: 'once for any number of copies of the machine image that are rate limited',
      causes: [causeOf('RATE_LIMITED', 'Image 1.'), causeOf('RATE_LIMITED', 'Image 2.')],
      published: [true, false],
    },
    {
      what: 'again if it changes',
      causes: [full('us-central1-a'), quotaOf('NVIDIA_L4_GPUS', 1), full('us-central1-a')],
      published: [true, true, true],
    },
    {
      what: 'again for another quota, and once for the same quota',
      causes: [quotaOf('CPUS', 24), quotaOf('CPUS', 24), quotaOf('NVIDIA_L4_GPUS', 1)],
      published: [true, false, true],
    },
  ])('is published $what', ({ causes, published }) => {
    expect(updatesOf(queuedJob(), causes)).toEqual(published);
  });

  it('is published when the VM waits for capacity', () => {
    const placed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000]);
    expect(transition(placed, eventsFor(placed, 2_000).VMS_PENDING).effects).toEqual([JOB_UPDATE]);
  });

  it('is set for a job whose zones were all out of capacity for other jobs', () => {
    const job = queuedJob();
    const { job: waiting, effects } = transition(job, eventsFor(job, 1_000).NO_PLACEMENT_LEFT);
    expect(waiting.waitingFor).toEqual(
      causeOf(
        'STOCKOUT',
        "Every zone that offers the job's machines has just been out of capacity, or had a faulty GPU, for another job.",
      ),
    );
    expect(effects).toEqual([JOB_UPDATE]);
  });

  it('is kept during the backoff', () => {
    const { job } = failPlacement(queuedJob(), quotaOf('CPUS', 24));
    const { job: waiting, effects } = transition(job, eventsFor(job, 2_000_000).NO_PLACEMENT_LEFT);
    expect(waiting.waitingFor).toEqual(quotaOf('CPUS', 24));
    expect(effects).toEqual([]);
  });
});

describe('a quota that is too low for the job alone', () => {
  const globalQuota = { metric: 'GPUS_ALL_REGIONS', family: null, limit: 0, scope: 'PROJECT' } as const;
  const regionalQuota = { metric: 'NVIDIA_L4_GPUS', family: null, limit: 0, scope: 'REGION' } as const;
  const manyRegions: Job = { ...queuedJob(), zones: ['us-central1-a', 'us-central1-b', 'us-west1-a'] };

  it.each<{ readonly name: string; readonly quota: QuotaLimit; readonly where: string; readonly job: Job }>([
    { name: 'of the project', quota: globalQuota, where: 'in the whole project', job: queuedJob() },
    {
      name: 'of the project, for zones of several regions',
      quota: globalQuota,
      where: 'in the whole project',
      job: manyRegions,
    },
    { name: 'of the only region', quota: regionalQuota, where: 'in us-central1', job: queuedJob() },
  ])('fails the job at once: $name', ({ quota, where, job }) => {
    const cause = quotaOf(quota.metric, quota.limit);
    const { job: failed } = failPlacement(job, cause, { quota });
    const message = `The quota ${quota.metric} is 0 ${where}, so waiting does not help. ${cause.message}`;
    expect(failed).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'QUOTA_EXCEEDED', message } },
    });
    expect(remedyOf(cause)).toMatch(/^Request /);
  });

  it('of one region leads to zones of other regions', () => {
    const { job, effects } = failPlacement(manyRegions, quotaOf('NVIDIA_L4_GPUS', 0), { quota: regionalQuota });
    expect(job).toMatchObject({ status: 'QUEUED', exhaustedZones: ['us-central1-a', 'us-central1-b'] });
    expect(effects[0]).toMatchObject({ type: 'PROVISION' });
  });

  it('fails the job at once if it is above 0 too, with both numbers', () => {
    const quota = { ...regionalQuota, limit: 3 };
    const { job } = failPlacement(queuedJob(), quotaOf('NVIDIA_L4_GPUS', 3), { quota, demand: 4 });
    const message = expect.stringContaining('NVIDIA_L4_GPUS is 3 in us-central1, and the job needs 4, so waiting');
    expect(job).toMatchObject({ status: 'CLOSING', verdict: { state: 'FAILED', cause: { message } } });
  });
});

describe('a quota that others use', () => {
  const quota = { metric: 'NVIDIA_L4_GPUS', family: null, limit: 4, scope: 'REGION' } as const;
  const cause = quotaOf('NVIDIA_L4_GPUS', 4);
  const manyRegions: Job = { ...queuedJob(), zones: ['us-central1-a', 'us-central1-b', 'us-west1-a'] };

  it.each([
    { what: 'the job needs all of it', quota, demand: 4 },
    { what: 'it is not known how much the job needs', quota, demand: null },
    { what: 'the error names no quota', quota: undefined, demand: null },
  ])('is waited for: $what', ({ quota: exceeded, demand }) => {
    expect(failPlacement(queuedJob(), cause, { ...(exceeded && { quota: exceeded }), demand }).job.status).toBe(
      'QUEUED',
    );
  });

  it('rules out all zones of its region for this round, and all zones if it is of the project', () => {
    const exhaustedBy = (scope: QuotaLimit['scope']) =>
      failPlacement(manyRegions, cause, { quota: { ...quota, scope }, demand: 4 }).job.exhaustedZones;
    expect(exhaustedBy('REGION')).toEqual(['us-central1-a', 'us-central1-b']);
    expect(exhaustedBy('PROJECT')).toEqual(manyRegions.zones);
  });

  it('fails a job without a maxWaitTime after a day, counted from the first of these failures in a row', () => {
    let { job } = failPlacement(queuedJob(), full('us-central1-a'));
    const since = 1_001_000;
    job = failPlacement(job, cause, { quota }).job;
    job = failPlacement(job, cause, { quota }).job;
    expect(job.quotaWaitSince).toBe(since);

    const deadline = since + QUOTA_WAIT_MS_MAX;
    job = jobAfter(job, ['NO_PLACEMENT_LEFT', deadline - 1_000]);
    expect(job).toMatchObject({ status: 'QUEUED', wakeAt: deadline });
    expect(jobAfter(job, ['DEADLINE_PASSED', deadline])).toMatchObject({
      verdict: {
        cause: {
          code: 'MAX_WAIT_TIME_EXCEEDED',
          message: expect.stringContaining('waited for a quota for 24 hours'),
          evidence: [`QUOTA_EXCEEDED: ${cause.message}`],
        },
      },
    });
  });

  it.each<{ readonly what: string; readonly waiting: Job }>([
    {
      what: 'a job with a longer maxWaitTime',
      waiting: failPlacement(queuedJob({ maxWaitMs: 10 * QUOTA_WAIT_MS_MAX }), cause, { quota }).job,
    },
    {
      what: 'a job that is then out of capacity',
      waiting: failPlacement(failPlacement(queuedJob(), cause, { quota }).job, full('us-central1-a')).job,
    },
  ])('does not limit the wait of $what to a day', ({ waiting }) => {
    const later = jobAfter(
      waiting,
      ['NO_PLACEMENT_LEFT', QUOTA_WAIT_MS_MAX],
      ['DEADLINE_PASSED', 2 * QUOTA_WAIT_MS_MAX],
    );
    expect(later.status).toBe('QUEUED');
  });
});
