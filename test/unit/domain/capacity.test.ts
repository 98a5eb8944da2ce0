import { describe, expect, it } from 'vitest';
import { CAPACITY_FAILURE_HALF_LIFE_MS, type CapacityFailure, chooseZone } from '#shared/domain/capacity.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const NOW = 100_000_000;
const moment = { now: NOW, timeouts: TIMEOUTS };
const job = { ...queuedJob(), zones: ['a', 'b', 'c'] };

function failure(zone: string, ageMs: number): CapacityFailure {
  return { zone, machineKey: 'n1-standard-4', provisioningModel: 'STANDARD', failedAt: NOW - ageMs };
}

describe('zone fallback', () => {
  it("follows the job's own order without any failures", () => {
    expect(chooseZone(job, [], moment)).toEqual({ zone: 'a' });
  });

  it('skips zones that this attempt has exhausted', () => {
    expect(chooseZone({ ...job, exhaustedZones: ['a'] }, [], moment)).toEqual({ zone: 'b' });
  });

  it('skips a zone that has just been out of capacity for another job', () => {
    expect(chooseZone(job, [failure('a', TIMEOUTS.coolDownMs - 1)], moment)).toEqual({ zone: 'b' });
  });

  it('prefers the zone with the lowest penalty, which decays with time', () => {
    const failures = [
      failure('a', 3 * CAPACITY_FAILURE_HALF_LIFE_MS),
      failure('b', 2 * TIMEOUTS.coolDownMs),
      failure('c', 2 * TIMEOUTS.coolDownMs),
    ];
    expect(chooseZone(job, failures, moment)).toEqual({ zone: 'a' });
  });

  it('returns no zone and a time to retry when every zone is exhausted', () => {
    expect(chooseZone({ ...job, exhaustedZones: ['a', 'b', 'c'] }, [], moment)).toEqual({
      zone: null,
      retryAt: NOW + 15_000,
    });
  });

  it('backs off exponentially after each round over all zones, up to ten minutes', () => {
    const waits = [3, 6, 9, 300].map((createFailures) => {
      const choice = chooseZone(
        { ...job, exhaustedZones: job.zones, counts: { ...job.counts, createFailures } },
        [],
        moment,
      );
      return choice.zone === null ? choice.retryAt - NOW : 0;
    });
    expect(waits).toEqual([30_000, 60_000, 120_000, 600_000]);
  });
});
