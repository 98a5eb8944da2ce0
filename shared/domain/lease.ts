import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

/** Verdict on an expired lease: the VM is lost, it is SUSPECT (check once more), or the fault cannot be located yet. */
export type LeaseVerdict = 'EXPIRED' | 'SUSPECT' | 'UNKNOWN';

/**
 * An expired lease does not say whether the VM or the control plane has failed: after an outage of a few minutes all
 * leases have expired, and the reconciler may be back before the heartbeats are. So a replica is EXPIRED only if other
 * replicas sent heartbeats while its own were missing, twice: the second time after half a lease in which the control
 * plane is known to receive heartbeats. If no replica is reporting, it is EXPIRED once its agent, which cannot reach
 * the control plane either, has stopped the VM by itself.
 */
export function evaluateLease(
  { suspectSince, leaseExpiresAt }: Pick<Replica, 'suspectSince' | 'leaseExpiresAt'>,
  {
    now,
    lastHeartbeatAt,
    timeouts,
  }: {
    readonly now: TimestampMs;
    /** Time of the newest heartbeat of any replica; undefined if there was none. */
    readonly lastHeartbeatAt: TimestampMs | undefined;
    readonly timeouts: Timeouts;
  },
): LeaseVerdict {
  const expiredAt = leaseExpiresAt ?? now;
  if (now >= expiredAt + timeouts.controlPlaneTimeoutMs) {
    return 'EXPIRED';
  }
  if (lastHeartbeatAt === undefined || lastHeartbeatAt < expiredAt) {
    return 'UNKNOWN';
  }
  return suspectSince === undefined ? 'SUSPECT' : 'EXPIRED';
}

/** The record of a suspect replica, with half a lease more. Its next heartbeat, if any, replaces the record. */
export function extendLease(replica: Replica, now: TimestampMs, { leaseMs }: Timeouts): Replica {
  return { ...replica, suspectSince: now, leaseExpiresAt: now + leaseMs / 2 };
}
