import { describe, expect, it } from 'vitest';
import { evaluateLease, extendLease, type LeaseVerdict } from '#shared/domain/lease.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

/** The lease expired at 120 s; the newest heartbeat of any replica is given in each case. */
const LEASE_MS = 120_000;

describe('a replica with an expired lease', () => {
  it.each<{
    readonly what: string;
    readonly lastHeartbeatAt: number | undefined;
    readonly now: number;
    readonly suspectSince?: number;
    readonly verdict: LeaseVerdict;
  }>([
    { what: 'is suspect if another reported since', lastHeartbeatAt: 120_000, now: 130_000, verdict: 'SUSPECT' },
    {
      what: 'has expired if it was suspect before',
      lastHeartbeatAt: 125_000,
      now: 130_000,
      suspectSince: 1,
      verdict: 'EXPIRED',
    },
    { what: 'may be healthy if none reported since', lastHeartbeatAt: 119_999, now: 500_000, verdict: 'UNKNOWN' },
    { what: 'may be healthy if none ever reported', lastHeartbeatAt: undefined, now: 500_000, verdict: 'UNKNOWN' },
    {
      what: 'may be healthy in a second outage',
      lastHeartbeatAt: 119_999,
      now: 130_000,
      suspectSince: 1,
      verdict: 'UNKNOWN',
    },
    {
      what: 'has expired after the control-plane timeout of its agent, even if none reported',
      lastHeartbeatAt: undefined,
      now: LEASE_MS + TIMEOUTS.controlPlaneTimeoutMs,
      verdict: 'EXPIRED',
    },
  ])('$what', ({ lastHeartbeatAt, now, suspectSince, verdict }) => {
    const replica = {
      ...exampleReplica(),
      leaseExpiresAt: LEASE_MS,
      ...(suspectSince !== undefined && { suspectSince }),
    };
    expect(evaluateLease(replica, { now, lastHeartbeatAt, timeouts: TIMEOUTS })).toBe(verdict);
  });

  it('gets half a lease more when it becomes suspect', () => {
    expect(extendLease(exampleReplica(), 130_000, TIMEOUTS)).toEqual({
      ...exampleReplica(),
      suspectSince: 130_000,
      leaseExpiresAt: 190_000,
    });
  });
});
