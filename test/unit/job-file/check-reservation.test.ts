import { describe, expect, it } from 'vitest';
import { masterOf } from '#shared/job-file/draft/job-draft.ts';
import { checkReservation } from '#shared/job-file/validation/check-reservation.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { machinesOf, pools } from '../../support/job-file/read-machines.ts';

describe('reservations', () => {
  const KEY = 'key: compute.googleapis.com/reservation-name';
  const FULL = 'projects/lab/zones/us-central1-a/reservations/gpus';

  function reservationOf(affinity: string) {
    const { draft, findings } = machinesOf(
      pools(`machineSpec: {machineType: a2-highgpu-1g, reservationAffinity: {${affinity}}}`),
    );
    const reservation = checkReservation(masterOf(draft), findings);
    return { reservation, problems: findings.problems, warnings: findings.warnings };
  }

  it.each([
    ['reservationAffinityType: ANY_RESERVATION', { kind: 'ANY' }],
    ['reservationAffinityType: NO_RESERVATION', { kind: 'NONE' }],
    [
      `reservationAffinityType: SPECIFIC_RESERVATION, ${KEY}, values: [${FULL}, gpus]`,
      { kind: 'SPECIFIC', names: [FULL, 'gpus'] },
    ],
  ])('are read from {%s}', (affinity, reservation) => {
    expect(reservationOf(affinity)).toEqual({ reservation, problems: [], warnings: [] });
  });

  it('default to null', () => {
    const { draft, findings } = machinesOf(pools('machineSpec: {machineType: a2-highgpu-1g}, replicaCount: 1'));
    expect(checkReservation(masterOf(draft), findings)).toBeNull();
    expect(findings.problems).toEqual([]);
  });

  it.each([
    ['a type', 'values: [gpus]', 'UNKNOWN_RESERVATION_TYPE', 'values[0]'],
    ['a valid type', 'reservationAffinityType: SOME', 'UNKNOWN_RESERVATION_TYPE', 'reservationAffinityType'],
    [
      'a key',
      'reservationAffinityType: SPECIFIC_RESERVATION, values: [gpus]',
      'INVALID_RESERVATION',
      'reservationAffinityType',
    ],
    [
      'the right key',
      'reservationAffinityType: SPECIFIC_RESERVATION, key: name, values: [gpus]',
      'INVALID_RESERVATION',
      'key',
    ],
    [
      'values',
      `reservationAffinityType: SPECIFIC_RESERVATION, ${KEY}`,
      'INVALID_RESERVATION',
      'reservationAffinityType',
    ],
    [
      'valid reservation names',
      `reservationAffinityType: SPECIFIC_RESERVATION, ${KEY}, values: [gpus, Not one]`,
      'INVALID_RESERVATION',
      'values[1]',
    ],
  ] as const)('require %s', (...[, affinity, code, field]) => {
    const { reservation, problems } = reservationOf(affinity);
    expect(reservation).toBeNull();
    expect(problems.map(describeProblem)).toEqual([
      `${code} workerPoolSpecs[0].machineSpec.reservationAffinity.${field}`,
    ]);
  });

  it('that are named but not used cause a warning', () => {
    const { reservation, warnings } = reservationOf(`reservationAffinityType: ANY_RESERVATION, values: [gpus]`);
    expect(reservation).toEqual({ kind: 'ANY' });
    expect(warnings.map(({ code }) => code)).toEqual(['FIELD_WITHOUT_EFFECT']);
  });

  it('in Dropforge’s dialect are names only, and reported once if groups share them', () => {
    const { draft, findings } = machinesOf('module: t\nreservation: [Not one]\nworkers: 2');
    const reservations = draft.pools.map((pool) => checkReservation(pool, findings));
    expect(reservations).toEqual([null, null]);
    expect(findings.problems.map(describeProblem)).toEqual(['INVALID_RESERVATION reservation[0]']);
  });
});
