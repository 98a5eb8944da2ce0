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

describe('the choice of a zone', () => {
  it("follows the job's own order when nothing is known", () => {
    expect(chooseZone(job, [], moment)).toEqual({ zone: 'a' });
  });

  it('passes by what refused this attempt', () => {
    expect(chooseZone({ ...job, exhaustedZones: ['a'] }, [], moment)).toEqual({ zone: 'b' });
  });

  it('passes by what has just refused another job', () => {
    expect(chooseZone(job, [failure('a', TIMEOUTS.coolDownMs - 1)], moment)).toEqual({ zone: 'b' });
  });

  it('comes back to a zone once its refusal is older than those of the others', () => {
    const failures = [
      failure('a', 3 * CAPACITY_FAILURE_HALF_LIFE_MS),
      failure('b', 2 * TIMEOUTS.coolDownMs),
      failure('c', 2 * TIMEOUTS.coolDownMs),
    ];
    expect(chooseZone(job, failures, moment)).toEqual({ zone: 'a' });
  });

  it('has none, and a time to try again, when the ladder is spent', () => {
    expect(chooseZone({ ...job, exhaustedZones: ['a', 'b', 'c'] }, [], moment)).toEqual({
      zone: null,
      retryAt: NOW + 15_000,
    });
  });

  it('waits longer each time the ladder was spent, up to ten minutes', () => {
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
