import fc from 'fast-check';
import { CAUSES, type Cause, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { JobEvent, JobEventType } from '#shared/domain/event.ts';
import type { Job } from '#shared/domain/job.ts';
import { eventsFor, queuedJob, ZONES } from './example-job.ts';

const times = fc.integer({ min: 0, max: 8 * 3_600_000 });
/** Small numbers, so that events are often about the current attempt and often about another one. */
const ordinals = fc.integer({ min: 0, max: 6 });
const causes: fc.Arbitrary<Cause> = fc
  .constantFrom(...(Object.keys(CAUSES) as CauseCode[]))
  .map((code) => causeOf(code, `It was ${code}.`, ['a line']));

/** How often each event is drawn: jobs progress before they end. */
const WEIGHTS: Readonly<Record<JobEventType, number>> = {
  PLACEMENT_CHOSEN: 6,
  VMS_CREATED: 6,
  REPLICA_STARTED: 6,
  DEADLINE_PASSED: 6,
  VMS_PENDING: 3,
  REPLICA_REPORTED: 3,
  REPLICA_UPLOADING: 3,
  REPLICA_EXITED: 3,
  HELD_FAILURE_RESOLVED: 3,
  ATTEMPT_INTERRUPTED: 3,
  PLACEMENT_FAILED: 3,
  VMS_GONE: 3,
  NO_PLACEMENT_LEFT: 1,
  SUCCESS_FOUND: 1,
  CANCEL_REQUESTED: 1,
  RELEASE_REQUESTED: 1,
  SHELL_OPENED: 1,
  STOP_REQUESTED: 1,
  DELIVERY_EXHAUSTED: 1,
  CAPACITY_FREED: 1,
  ENDED_PLACEMENTS_GONE: 1,
};
const types: fc.Arbitrary<JobEventType> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([type, weight]) => ({ weight, arbitrary: fc.constant(type as JobEventType) })),
);

const EXAMPLES = eventsFor(queuedJob(), 0);

/** The fences that an event of this type carries: the others are about the job, whatever its attempt is. */
function fencesOf(
  type: JobEventType,
  { attempt, placementRound }: { readonly attempt: number; readonly placementRound: number },
) {
  const example = EXAMPLES[type];
  return { ...('attempt' in example && { attempt }), ...('placementRound' in example && { placementRound }) };
}

/** Any event that could reach the job, current or stale. */
const events: fc.Arbitrary<JobEvent> = fc
  .record({
    type: types,
    at: times,
    attempt: ordinals,
    placementRound: ordinals,
    retryAt: times,
    behind: fc.option(
      fc.constant({
        jobIds: ['earlier'],
        waitsFor: { metric: 'CPUS', family: null, limit: 24, region: null, isHeld: false },
        isQuota: true,
      }),
    ),
    exceeded: fc.option(
      fc.record({
        waitsFor: fc.constant({ metric: 'VMS_MAX', family: null, limit: 4, region: null, isHeld: false }),
        cause: causes,
        isTooLow: fc.boolean(),
      }),
    ),
    areVmsGone: fc.boolean(),
    isClosing: fc.boolean(),
    until: times,
    startedVms: fc.constantFrom(0, 0, 1),
    zone: fc.constantFrom(...ZONES),
    zonesAvailable: fc.subarray([...ZONES, 'europe-west4-a']),
    quota: fc.record({
      metric: fc.constant('CPUS'),
      family: fc.constant(null),
      limit: fc.constantFrom(0, 24),
      scope: fc.constantFrom('PROJECT', 'REGION'),
    }),
    quotaDemand: fc.constantFrom(null, 4, 96),
    vmsCreated: fc.integer({ min: 0, max: 30 }),
    replica: fc.constantFrom('master-0', 'master-0', 'worker-1'),
    ordinal: ordinals,
    seconds: fc.integer({ min: 1, max: 300 }),
    cause: causes,
    isSuccess: fc.boolean(),
    topic: fc.constantFrom('provision', 'teardown', 'job-updates'),
  })
  .map(({ isSuccess, zone, zonesAvailable, quota, attempt, placementRound, ...facts }) => {
    const allFields = {
      ...facts,
      ...fencesOf(facts.type, { attempt, placementRound }),
      jobId: 'digits',
      eventId: `${facts.type}-${facts.at}`,
      placement: { zone, provisioningModel: 'STANDARD', machineImage: 'runtime-2-11' },
      failure: { cause: facts.cause, zonesAvailable, ...(facts.cause.code === 'QUOTA_EXCEEDED' && { quota }) },
      instances: [{ role: 'master', index: 0, vmName: `vm-${attempt}`, instanceId: '101' }],
      exit: isSuccess ? { outcome: 'SUCCEEDED' } : { outcome: 'FAILED', cause: facts.cause },
      problem: 'It threw.',
    };
    // Contains the fields of every event type but the fences; rules read only those of the event's type.
    return allFields as JobEvent;
  });

function pairOf(job: Job): Job {
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker', count: 2 }] } };
}

/**
 * A job that was just accepted, and a sequence of events. Half of the events are made current when they are applied,
 * since jobs would hardly progress otherwise.
 */
export const jobsWithEvents = fc.record({
  job: fc
    .record({
      isCluster: fc.boolean(),
      isTrial: fc.boolean(),
      maxRunningMs: fc.integer({ min: 1_000, max: 4 * 3_600_000 }),
      maxWaitMs: fc.option(fc.integer({ min: 1, max: 3_600_000 })),
      restartsMax: fc.integer({ min: 0, max: 2 }),
      keepOnFailureMs: fc.constantFrom(0, 1_800_000),
    })
    .map(({ isCluster, isTrial, ...limits }): Job => {
      const trial = isTrial ? { tuningId: 'tuning', ordinal: 1, metricIds: ['accuracy'] } : null;
      const job = { ...queuedJob(limits), trial };
      return isCluster ? pairOf(job) : job;
    }),
  steps: fc.array(fc.record({ event: events, isCurrent: fc.boolean() }), { maxLength: 60, size: 'max' }),
});

export function makeCurrent(
  job: Job,
  { event, isCurrent }: { readonly event: JobEvent; readonly isCurrent: boolean },
): JobEvent {
  return isCurrent ? ({ ...event, ...fencesOf(event.type, job) } as JobEvent) : event;
}
