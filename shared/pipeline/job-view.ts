import { priceOf } from '#shared/catalog/price.ts';
import { CAUSES, type Cause, remedyOf } from '#shared/domain/cause.ts';
import { type AttemptRecord, billedSince, type Job, stateOf, type TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** Compute Engine bills a VM for at least a minute, then by the second (docs "VM instance pricing"). */
const BILLED_SECONDS_MIN = 60;

/** A job as users see it, at a time. */
export function viewJob(job: Job, replicas: readonly Replica[], now: TimestampMs): JobView {
  const cause = 'verdict' in job ? job.verdict.cause : null;
  return {
    jobId: job.jobId,
    state: stateOf(job),
    createTime: rfc3339(job.createdAt),
    startTime: job.firstRanAt === null ? null : rfc3339(job.firstRanAt),
    endTime: job.status === 'CLOSED' ? rfc3339(job.endedAt) : null,
    errorMessage: cause === null ? null : cause.message,
    labels: job.spec.labels,
    jobDir: job.spec.jobDir,
    source: job.source.uri,
    report: job.source.reportUri,
    attempt: job.attempt,
    placement: 'placement' in job ? job.placement : null,
    machines: job.spec.replicaGroups.map(({ role, count, machineType, accelerator }) => ({
      role,
      count,
      machineType,
      accelerator: accelerator === null ? null : `${accelerator.count} x ${accelerator.type}`,
    })),
    cause: cause === null ? null : viewCause(cause),
    waitingFor: job.waitingFor === null ? null : { code: job.waitingFor.code, message: job.waitingFor.message },
    attempts: job.ledger.map(viewAttempt),
    replicas: replicas.map(viewReplica),
    price: viewPrice(job, now),
  };
}

function viewCause(cause: Cause): NonNullable<JobView['cause']> {
  const { code, message, evidence } = cause;
  return { code, class: CAUSES[code].class, message, remedy: remedyOf(cause), evidence: [...evidence] };
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

function viewReplica(replica: Replica): JobView['replicas'][number] {
  const { usage, progress } = replica;
  return {
    replica: replica.replica,
    attempt: replica.attempt,
    vmName: replica.vmName,
    instanceId: replica.instanceId,
    phase: replica.phase,
    heardTime: rfc3339(replica.heardAt),
    cpuFraction: usage.cpuFraction,
    memoryBytes: usage.memoryBytes,
    memoryBytesMax: usage.memoryBytesMax,
    diskBytes: usage.diskBytes,
    gpus: [...usage.gpus],
    step: progress.step,
    stepsMax: progress.stepsMax,
    metrics: progress.metrics,
  };
}

/** What the job's VMs cost at list price, from the time each attempt was placed until it ended. */
function viewPrice(job: Job, now: TimestampMs): JobView['price'] {
  const current = { placedAt: billedSince(job), endedAt: now };
  const billedSeconds = [...job.ledger, current].reduce((sum, { placedAt, endedAt }) => {
    return placedAt === null ? sum : sum + Math.max(BILLED_SECONDS_MIN, Math.ceil((endedAt - placedAt) / 1_000));
  }, 0);
  const { perHourUsd, asOf } = priceOf(job.spec.replicaGroups, job.spec.provisioningModel);
  const totalUsd = perHourUsd === null ? null : (perHourUsd * billedSeconds) / 3_600;
  return { perHourUsd, billedSeconds, totalUsd, asOf };
}

function rfc3339(at: TimestampMs): string {
  return new Date(at).toISOString();
}
