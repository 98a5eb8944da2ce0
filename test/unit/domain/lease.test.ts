import { describe, expect, it } from 'vitest';
import { evaluateLease, extendLease, type Silence } from '#shared/domain/lease.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';

/** Its lease passed at 120 s, and another was heard at the time that the case names. */
const LEASE_MS = 120_000;

describe('a replica whose lease has passed', () => {
  it.each<{
    readonly what: string;
    readonly lastHeardAt: number | undefined;
    readonly now: number;
    readonly missedAt?: number;
    readonly silence: Silence;
  }>([
    { what: 'is missed when another was heard since', lastHeardAt: 120_000, now: 130_000, silence: 'MISSED' },
    { what: 'is given up when it was missed before', lastHeardAt: 125_000, now: 130_000, missedAt: 1, silence: 'LOST' },
    { what: 'may well be when nobody was heard since', lastHeardAt: 119_999, now: 500_000, silence: 'UNCERTAIN' },
    { what: 'may well be when nobody ever was heard', lastHeardAt: undefined, now: 500_000, silence: 'UNCERTAIN' },
    { what: 'may well be in a second outage', lastHeardAt: 119_999, now: 130_000, missedAt: 1, silence: 'UNCERTAIN' },
    {
      what: 'is given up when its agent must have stopped it, whoever is heard',
      lastHeardAt: undefined,
      now: LEASE_MS + TIMEOUTS.controlPlaneTimeoutMs,
      silence: 'LOST',
    },
  ])('$what', ({ lastHeardAt, now, missedAt, silence }) => {
    const replica = { ...exampleReplica(), leaseExpiresAt: LEASE_MS, ...(missedAt !== undefined && { missedAt }) };
    expect(evaluateLease(replica, { now, lastHeardAt, timeouts: TIMEOUTS })).toBe(silence);
  });

  it('has half a lease to speak when it is looked for once more', () => {
    expect(extendLease(exampleReplica(), 130_000, TIMEOUTS)).toEqual({
      ...exampleReplica(),
      missedAt: 130_000,
      leaseExpiresAt: 190_000,
    });
  });
});
