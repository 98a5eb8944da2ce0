import { causeOf } from '#shared/domain/cause.ts';
import type { EventOf, JobEventType } from '#shared/domain/event.ts';
import { isPlaced, type Job, type JobIn, type Placement } from '#shared/domain/job.ts';
import type { JobLimits } from '#shared/domain/job-spec.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';

export const ZONES = ['us-central1-a', 'us-central1-b'];
export const PLACEMENT: Placement = {
  zone: 'us-central1-a',
  provisioningModel: 'STANDARD',
  machineImage: 'runtime-2-11',
};
export const INSTANCE = { role: 'master', index: 0, vmName: 'df-digits-a1-master-0', instanceId: '101' } as const;

/** A job that was accepted at time 0. */
export function queuedJob(limits: Partial<JobLimits> = {}): JobIn<'QUEUED'> {
  return {
    status: 'QUEUED',
    isBackingOff: false,
    isAdmitted: false,
    wakeAt: 180_000,
    jobId: 'digits',
    trial: null,
    spec: {
      jobId: 'digits',
      labels: {},
      replicaGroups: [
        {
          role: 'master',
          count: 1,
          machineType: 'n1-standard-4',
          accelerator: null,
          bootDiskGib: 100,
          bootDiskType: 'pd-ssd',
          reservation: null,
          program: null,
          provisioningModel: null,
        },
      ],
      program: {
        kind: 'PYTHON',
        packageUris: ['gs://jobs/digits.tar.gz'],
        module: 'trainer.task',
        args: [],
        environment: {},
      },
      region: 'us-central1',
      provisioningModel: 'STANDARD',
      runtimeVersion: '2.11',
      pythonVersion: null,
      jobDir: 'gs://jobs/digits',
      service: 'AI_PLATFORM',
      passesJobDir: true,
      serviceAccount: null,
      network: null,
      subnetwork: null,
      networkAttachment: null,
      kmsKeyName: null,
      notify: null,
      programOptions: {},
      secrets: {},
      health: {},
      study: null,
      limits: { maxRunningMs: 3_600_000, maxWaitMs: null, restartsMax: 0, keepOnFailureMs: 0, ...limits },
    },
    packages: [],
    source: {
      uri: 'gs://uploads/job.yaml',
      deliveryId: '1',
      reportUri: 'gs://uploads/job.yaml.report.json',
      submittedBy: null,
      git: null,
      text: null,
      digest: 'd1',
    },
    warnings: [],
    createdAt: 0,
    attempt: 1,
    placementRound: 1,
    exhaustedZones: [],
    zones: ZONES,
    firstRanAt: null,
    ranMs: 0,
    counts: {
      interruptions: 0,
      interruptionsInRow: 0,
      bootFailuresInRow: 0,
      restarts: 0,
      createFailures: 0,
      deliveryFailuresInRow: 0,
      unusedVms: 0,
    },
    ledger: [],
    waitingFor: null,
    quotaWaitSince: null,
    deniedSince: null,
    waitsFor: null,
    endedPlacements: 0,
    history: [],
  };
}

/** One event of each type, about the job's current attempt and placement round. */
export function eventsFor(job: Job, at: number): { readonly [E in JobEventType]: EventOf<E> } {
  const { jobId, attempt, placementRound } = job;
  const base = { jobId, at };
  const named = <T extends string>(type: T) => ({ ...base, type, eventId: `${type}-${at}` });
  const cause = causeOf('PREEMPTED', 'Compute Engine ended the VM.');
  const stockout = causeOf('STOCKOUT', 'The zone is full.');
  return {
    PLACEMENT_CHOSEN: { ...named('PLACEMENT_CHOSEN'), attempt, placementRound, placement: PLACEMENT },
    NO_PLACEMENT_LEFT: {
      ...named('NO_PLACEMENT_LEFT'),
      attempt,
      placementRound,
      retryAt: at + 15_000,
      behind: null,
      exceeded: null,
    },
    SUCCESS_FOUND: { ...named('SUCCESS_FOUND'), attempt },
    PLACEMENT_FAILED: {
      ...named('PLACEMENT_FAILED'),
      attempt,
      failure: { cause: stockout, zonesAvailable: [] },
      quotaDemand: null,
      vmsCreated: 0,
      areVmsGone: true,
    },
    VMS_PENDING: { ...named('VMS_PENDING'), attempt, placementRound, until: at + 7_200_000, startedVms: 0 },
    VMS_CREATED: { ...named('VMS_CREATED'), attempt, placementRound, instances: [INSTANCE] },
    REPLICA_REPORTED: { ...named('REPLICA_REPORTED'), attempt, replica: 'master-0' },
    REPLICA_STARTED: { ...named('REPLICA_STARTED'), attempt, replica: 'master-0' },
    REPLICA_UPLOADING: { ...named('REPLICA_UPLOADING'), attempt, replica: 'master-0' },
    REPLICA_EXITED: { ...named('REPLICA_EXITED'), attempt, replica: 'master-0', exit: { outcome: 'SUCCEEDED' } },
    HELD_FAILURE_RESOLVED: {
      ...named('HELD_FAILURE_RESOLVED'),
      attempt,
      replica: 'master-0',
      exit: { outcome: 'FAILED', cause },
    },
    ATTEMPT_INTERRUPTED: { ...named('ATTEMPT_INTERRUPTED'), attempt, cause },
    ENDED_PLACEMENTS_GONE: { ...named('ENDED_PLACEMENTS_GONE'), attempt, placementRound, isClosing: false },
    CANCEL_REQUESTED: named('CANCEL_REQUESTED'),
    RELEASE_REQUESTED: named('RELEASE_REQUESTED'),
    SHELL_OPENED: { ...named('SHELL_OPENED'), replica: 'master-0' },
    STOP_REQUESTED: named('STOP_REQUESTED'),
    DELIVERY_EXHAUSTED: {
      ...named('DELIVERY_EXHAUSTED'),
      attempt,
      placementRound,
      topic: 'provision',
      problem: 'It threw.',
    },
    DEADLINE_PASSED: named('DEADLINE_PASSED'),
    CAPACITY_FREED: named('CAPACITY_FREED'),
    VMS_GONE: named('VMS_GONE'),
  };
}

/** The job after these events, each about the attempt that was current at its time. */
export function jobAfter(job: Job, ...steps: readonly (readonly [JobEventType, number])[]): Job {
  return steps.reduce((current: Job, [type, at]) => transition(current, eventsFor(current, at)[type]).job, job);
}

/** A job whose worker has failed, before it is known whether another replica was interrupted. */
export function holdingJob(job: Job, at: number): Job {
  if (!isPlaced(job)) {
    throw new Error(`The job is ${job.status}: it has no VMs that could fail.`);
  }
  const cause = causeOf('PROGRAM_FAILED', 'The program ended with exit code 1.');
  const heldFailure = { replica: 'worker-0', cause, failedAt: at, heldAt: at, hasMasterSucceeded: false };
  return { ...job, heldFailure, wakeAt: at + TIMEOUTS.heartbeatDelayMs };
}

/** The example job, cancelled and closed. */
export function closedJob(): Job {
  return jobAfter(queuedJob(), ['CANCEL_REQUESTED', 1_000], ['VMS_GONE', 2_000]);
}
