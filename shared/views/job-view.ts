import { keptPerHourUsd, priceOfJob } from '#shared/catalog/job-price.ts';
import { linkToLabel } from '#shared/diagnosis/rules/labels.ts';
import { CAUSES, type Cause, classOf, remedyOf } from '#shared/domain/cause.ts';
import { describeStart, isStarting } from '#shared/domain/cluster-start.ts';
import {
  type AttemptRecord,
  isPlaced,
  type Job,
  MASTER,
  replicaName,
  replicasOf,
  stateOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { NO_USAGE, type Replica, type ReplicaProgress } from '#shared/domain/replica.ts';
import { findRunWarnings } from '#shared/domain/run-warnings.ts';
import { timelineOf } from '#shared/domain/timeline.ts';
import { type Submitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { viewImages } from '#shared/views/view-images.ts';

/** A job as users see it in reports and the API; `now` is for the price of a running job. */
export function viewJob(job: Job, replicas: readonly Replica[], now: TimestampMs): JobView {
  const shown = listShown(job, replicas);
  return {
    ...viewCommon(job),
    attempt: job.attempt,
    placement: 'placement' in job ? job.placement : null,
    waitingFor: viewWait(job) ?? viewStart(job, shown),
    attempts: job.ledger.map(viewAttempt),
    replicas: shown.map((replica) => viewReplica(job, replica)),
    tuning: null,
    trial: job.trial === null ? null : { tuningId: job.trial.tuningId, trialId: String(job.trial.ordinal) },
    health: shown.flatMap(viewHealth),
    timeline: viewTimeline(job, replicas),
    warnings: [...findRunWarnings(shown, job.spec)],
    price: priceOfJob(job, now),
    kept: viewKept(job),
  };
}

/** The fields that jobs and tunings have alike. */
export function viewCommon(submitted: Submitted) {
  const { createdAt, spec, source } = submitted;
  const { jobId, state } = updateOf(submitted);
  const startedAt = 'tuningId' in submitted ? submitted.firstTrialAt : submitted.firstRanAt;
  const cause = 'verdict' in submitted ? submitted.verdict.cause : null;
  return {
    jobId,
    state,
    createTime: rfc3339(createdAt),
    startTime: startedAt === null ? null : rfc3339(startedAt),
    endTime: submitted.status === 'CLOSED' ? rfc3339(submitted.endedAt) : null,
    errorMessage: cause === null ? null : cause.message,
    labels: spec.labels,
    jobDir: spec.jobDir,
    source: source.uri,
    report: source.reportUri,
    submittedBy: source.submittedBy,
    git: source.git,
    machines: viewMachines(spec),
    images: viewImages(spec),
    cause: cause === null ? null : viewCause(cause),
  };
}

export function viewMachines({ replicaGroups }: Pick<JobSpec, 'replicaGroups'>): JobView['machines'] {
  return replicaGroups.map(({ role, count, machineType, accelerator, provisioningModel }) => ({
    role,
    count,
    machineType,
    accelerator: accelerator === null ? null : `${accelerator.count} x ${accelerator.type}`,
    ...(provisioningModel !== null && { provisioningModel }),
  }));
}

function viewKept(job: Job): JobView['kept'] {
  if (!('kept' in job) || job.kept === null) {
    return null;
  }
  const { replica, vmName, placement, since, until, releasedAt } = job.kept;
  return {
    replica,
    vmName,
    zone: placement.zone,
    sinceTime: rfc3339(since),
    untilTime: rfc3339(until),
    releaseTime: releasedAt === null ? null : rfc3339(releasedAt),
    perHourUsd: keptPerHourUsd(job, job.kept),
  };
}

/** The cause of an ended attempt is in the list of attempts; it is a reason for waiting only during the backoff. */
export function viewWait(job: Job): JobView['waitingFor'] {
  const { waitingFor } = job;
  if (waitingFor === null || stateOf(job) !== 'QUEUED') {
    return null;
  }
  const isBackingOff = job.status === 'QUEUED' && job.isBackingOff;
  const isEnd = ['interruption', 'user'].includes(classOf(waitingFor));
  return isEnd && !isBackingOff ? null : { code: waitingFor.code, message: waitingFor.message };
}

/** The programs that a cluster waits for; null in lists that have no replicas. */
function viewStart(job: Job, replicas: readonly Replica[]): JobView['waitingFor'] {
  const message = isStarting(job) && replicas.length > 0 ? describeStart(job, replicas) : null;
  return message === null ? null : { code: 'CLUSTER_STARTING', message };
}

/**
 * The replicas of the current attempt and placement, in the order of the job: the master first, worker-2 before
 * worker-10. Those of an earlier zone are older. A QUEUED job has none.
 */
function listShown(job: Job, replicas: readonly Replica[]): readonly Replica[] {
  const places = new Map(replicasOf(job.spec).map((id, place) => [replicaName(id), place]));
  const placeOf = ({ replica }: Replica) => places.get(replica) ?? places.size;
  return replicas
    .filter(({ attempt, heardAt }) => attempt === job.attempt && (!isPlaced(job) || heardAt >= job.placedAt))
    .filter(() => job.status !== 'QUEUED')
    .sort((a, b) => placeOf(a) - placeOf(b));
}

export function viewCause(cause: Cause): NonNullable<JobView['cause']> {
  const { code, message, evidence, diagnosis } = cause;
  return {
    code,
    class: CAUSES[code].class,
    message,
    remedy: diagnosis?.remedy ?? remedyOf(cause),
    evidence: [...evidence],
    label: diagnosis?.label ?? null,
    canRetryHelp: diagnosis?.canRetryHelp ?? null,
    rootLine: diagnosis?.line ?? null,
    link: diagnosis === undefined ? null : linkToLabel(diagnosis.label),
  };
}

function viewAttempt({ attempt, zone, ranAt, endedAt, cause }: AttemptRecord): JobView['attempts'][number] {
  return {
    attempt,
    zone,
    startTime: ranAt === null ? null : rfc3339(ranAt),
    endTime: rfc3339(endedAt),
    cause: cause?.code ?? null,
    message: cause?.message ?? null,
  };
}

function viewTimeline(job: Job, replicas: readonly Replica[]): JobView['timeline'] {
  const master = replicas.find(({ replica, attempt }) => replica === MASTER && attempt === job.attempt);
  const programEnd = master?.endedAt ? { attempt: master.attempt, endedAt: master.endedAt } : null;
  return timelineOf(job, programEnd).map(({ phases, ...attempt }) => ({
    ...attempt,
    phases: phases.map(({ phase, startedAt, endedAt }) => ({
      phase,
      startTime: rfc3339(startedAt),
      endTime: endedAt === null ? null : rfc3339(endedAt),
    })),
  }));
}

function viewHealth({ replica, health }: Replica): JobView['health'] {
  return health.map(({ evidence, since, until, ...finding }) => ({
    ...finding,
    replica,
    evidence: [...evidence],
    sinceTime: rfc3339(since),
    untilTime: until === null ? null : rfc3339(until),
  }));
}

/** A closed job keeps the progress of its replicas, but has no usage: the VMs are deleted. */
function viewReplica(job: Job, replica: Replica): JobView['replicas'][number] {
  const isOver = job.status === 'CLOSED';
  const { progress } = replica;
  const usage = isOver ? NO_USAGE : replica.usage;
  const [role = '', index] = replica.replica.split('-');
  const exit = replica.exit ?? replica.pendingExit;
  return {
    replica: replica.replica,
    role,
    index: Number(index),
    attempt: replica.attempt,
    vmName: replica.vmName,
    instanceId: replica.instanceId,
    phase: isOver ? 'EXITED' : replica.phase,
    heardTime: rfc3339(replica.heardAt),
    restarts: replica.reboots,
    exitCode: replica.exitCode,
    cause: exit?.outcome === 'FAILED' ? { code: exit.cause.code, message: exit.cause.message } : null,
    cpuFraction: usage.cpuFraction,
    memoryBytes: usage.memoryBytes,
    memoryBytesMax: usage.memoryBytesMax,
    diskBytes: usage.diskBytes,
    gpus: [...usage.gpus],
    step: progress.step,
    stepsMax: progress.stepsMax,
    metrics: viewMetrics(progress),
  };
}

/** A metric that is not finite now has no number; a number replaces the value that was not finite. */
function viewMetrics({ metrics, nonFinite }: ReplicaProgress): JobView['replicas'][number]['metrics'] {
  const texts = Object.entries(nonFinite ?? {}).map(([name, { value }]) => [name, value] as const);
  return { ...Object.fromEntries(texts), ...metrics };
}

/** The time in UTC, as `2026-11-20T12:00:00.000Z`. */
export function rfc3339(at: TimestampMs): string {
  return new Date(at).toISOString();
}
