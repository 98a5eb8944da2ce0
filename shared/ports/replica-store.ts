import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';

/** Stores heartbeats: one record per replica, separate from the job. */
export type ReplicaStore = {
  /** OUTDATED, without writing, if a later heartbeat of the same instance, or its exit, is recorded. */
  record(replica: Replica): Promise<'RECORDED' | 'OUTDATED'>;
  /** Replicas whose lease has expired, most overdue first. Healthy replicas cost no read. Throws UnreadableRecordsError. */
  listExpired(now: TimestampMs, countMax: number): Promise<readonly Replica[]>;
  /** Time of the newest heartbeat of any replica; undefined if there is none. At most one read. */
  lastHeartbeatAt(): Promise<TimestampMs | undefined>;
  /** The replica that runs or ran on this instance. */
  findByInstance(instanceId: string): Promise<Replica | undefined>;
  /** The replicas of one attempt of a job. */
  listByAttempt(job: { readonly jobId: string; readonly attempt: number }): Promise<readonly Replica[]>;
  /** Clears the leases of the job's attempts up to and including `attempt`. */
  clearLeases(jobId: string, attempt: number): Promise<void>;
};
