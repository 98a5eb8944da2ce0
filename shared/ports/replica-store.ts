import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';

/** Where heartbeats are written: one record a replica, never the job's own. */
export type ReplicaStore = {
  /**
   * OUTDATED when a later heartbeat of the same instance, or its exit, was recorded before; nothing is written then.
   */
  record(replica: Replica): Promise<'RECORDED' | 'OUTDATED'>;
  /** The replicas whose lease has passed, most overdue first. Healthy replicas cost no read. */
  listExpired(now: TimestampMs, countMax: number): Promise<readonly Replica[]>;
  /** When any replica was last heard, whichever; undefined when none ever was. At most one read. */
  lastHeartbeatAt(): Promise<TimestampMs | undefined>;
  /** The replica that runs, or ran, on this instance. */
  findByInstance(instanceId: string): Promise<Replica | undefined>;
  listByJob(jobId: string): Promise<readonly Replica[]>;
  /** No lease of this job's attempts up to `attempt` is waited for any more. */
  clearLeases(jobId: string, attempt: number): Promise<void>;
};
