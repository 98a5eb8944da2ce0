import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';

/** What is made of a passed lease: the VM is given up, it is looked for once more, or nobody can tell yet. */
export type Silence = 'LOST' | 'MISSED' | 'UNCERTAIN';

/**
 * A passed lease says that nothing was heard, not who is at fault: a VM that is silent, or a control plane that is
 * deaf. After an outage of a few minutes all leases have passed, and the watcher may be back before the heartbeats are.
 * So a VM is given up only where others were heard while it was not, twice: the second time after it had half a lease
 * to speak in, since the control plane is known to hear. Where nobody is heard, it is given up when its agent, which
 * has heard nothing either, has stopped it by itself.
 */
export function evaluateLease(
  { missedAt, leaseExpiresAt }: Pick<Replica, 'missedAt' | 'leaseExpiresAt'>,
  {
    now,
    lastHeardAt,
    timeouts,
  }: {
    readonly now: TimestampMs;
    /** When anybody was last heard; undefined when nobody ever was. */
    readonly lastHeardAt: TimestampMs | undefined;
    readonly timeouts: Timeouts;
  },
): Silence {
  const expiredAt = leaseExpiresAt ?? now;
  if (now >= expiredAt + timeouts.controlPlaneTimeoutMs) {
    return 'LOST';
  }
  if (lastHeardAt === undefined || lastHeardAt < expiredAt) {
    return 'UNCERTAIN';
  }
  return missedAt === undefined ? 'MISSED' : 'LOST';
}

/** The record of a replica that is looked for once more; its next heartbeat, if there is one, writes it anew. */
export function extendLease(replica: Replica, now: TimestampMs, { leaseMs }: Timeouts): Replica {
  return { ...replica, missedAt: now, leaseExpiresAt: now + leaseMs / 2 };
}
