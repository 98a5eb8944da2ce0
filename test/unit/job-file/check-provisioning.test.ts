import { describe, expect, it } from 'vitest';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { checkProvisioning } from '#shared/job-file/validation/check-provisioning.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { custom, machinesOf, pools } from '../../support/job-file/read-machines.ts';

function provisioningOf(text: string) {
  const { draft, groups, findings } = machinesOf(text);
  const before = findings.problems.length;
  const model = checkProvisioning(draft, groups, findings);
  return { model, found: findings.problems.slice(before) };
}

function found(text: string): readonly string[] {
  return provisioningOf(text).found.map(describeProblem);
}

function withStrategy(strategy: string, ...specs: readonly string[]): string {
  return `${pools(...specs)}\nscheduling: {strategy: ${strategy}}`;
}

function machine(type: string, count = 1): string {
  return `machineSpec: {machineType: ${type}}, replicaCount: ${count}`;
}

describe('the provisioning model', () => {
  it.each([
    ['STRATEGY_UNSPECIFIED', 'STANDARD'],
    ['ON_DEMAND', 'STANDARD'],
    ['STANDARD', 'STANDARD'],
    ['LOW_COST', 'SPOT'],
    ['SPOT', 'SPOT'],
    ['FLEX_START', 'FLEX_START'],
  ])('%s means %s', (strategy, model) => {
    expect(provisioningOf(withStrategy(strategy, machine('g2-standard-8')))).toEqual({ model, found: [] });
  });

  it('is STANDARD by default, and is set by spot and flexStart in Dropforge’s dialect', () => {
    expect(provisioningOf(custom('masterType: standard')).model).toBe('STANDARD');
    expect(provisioningOf('module: t\nspot: true').model).toBe('SPOT');
    expect(provisioningOf('module: t\ngpu: L4\nflexStart: true').model).toBe('FLEX_START');
  });

  it.each([
    ['CHEAP', 'UNKNOWN_STRATEGY scheduling.strategy'],
    ['constructor', 'UNKNOWN_STRATEGY scheduling.strategy'],
    ['"<strategy>"', 'PLACEHOLDER scheduling.strategy'],
  ])('rejects the strategy %s', (strategy, problem) => {
    expect(provisioningOf(withStrategy(strategy, machine('g2-standard-8'))).model).toBeNull();
    expect(found(withStrategy(strategy, machine('g2-standard-8')))).toEqual([problem]);
  });

  it('warns of what the first VMs of a cluster with FLEX_START may cost while they wait for the others', () => {
    const pair = withStrategy('FLEX_START', machine('a2-highgpu-1g'), machine('a2-highgpu-1g', 2));
    const { draft, groups, findings } = machinesOf(pair);
    expect(checkProvisioning(draft, groups, findings)).toBe('FLEX_START');
    expect(findings.warnings).toMatchObject([
      {
        code: 'FLEX_START_CLUSTER',
        path: 'scheduling.strategy',
        message: expect.stringMatching(
          /the 3 VMs start one after another.* for 10 min in a zone.* about \$\d+\.\d\d\.$/,
        ),
      },
    ]);
    const single = machinesOf(withStrategy('FLEX_START', machine('a2-highgpu-1g')));
    checkProvisioning(single.draft, single.groups, single.findings);
    expect(single.findings.warnings).toEqual([]);
  });

  it('must be available for every machine, and the remedy uses the dialect’s syntax', () => {
    const remedies = [
      withStrategy('STANDARD', machine('n1-standard-8'), machine('a3-highgpu-1g')),
      custom('masterType: a3-highgpu-1g'),
      'module: t\nmachine: a3-highgpu-1g',
    ].map((text) => provisioningOf(text).found.map(({ path, remedy }) => [path, remedy]));
    expect(remedies).toEqual([
      [
        [
          'workerPoolSpecs[1].machineSpec.machineType',
          'Write scheduling.strategy: SPOT or FLEX_START, or choose another machine type.',
        ],
      ],
      [
        [
          'trainingInput.masterType',
          'Write trainingInput.scheduling.strategy: LOW_COST, or choose another machine type.',
        ],
      ],
      [['machine', 'Write spot: true (as a flag, --spot) or flexStart: true, or choose another machine type.']],
    ]);
    expect(found(withStrategy('FLEX_START', machine('n1-standard-8')))).toEqual([
      'WRONG_PROVISIONING_MODEL workerPoolSpecs[0].machineSpec.machineType',
    ]);
  });

  it('requires a reservation for machines that are available by reservation only', () => {
    const reserved = 'reservationAffinity: {reservationAffinityType: SPECIFIC_RESERVATION}';
    expect(found(pools(machine('a4x-highgpu-4g')))).toEqual([
      'RESERVATION_NEEDED workerPoolSpecs[0].machineSpec.machineType',
    ]);
    expect(found(pools(`machineSpec: {machineType: a4x-highgpu-4g, ${reserved}}`))).toEqual([]);
    expect(found(pools(`machineSpec: {machineType: a3-ultragpu-8g, ${reserved}}`))).toEqual([]);
    expect(found(withStrategy('SPOT', `machineSpec: {machineType: a3-ultragpu-8g, ${reserved}}`))).toEqual([
      'RESERVATION_NOT_USABLE workerPoolSpecs[0].machineSpec.reservationAffinity.reservationAffinityType',
    ]);
  });

  it('FLEX_START requires identical machines and at most 7 days', () => {
    const [l4, a100] = [machine('g2-standard-8'), machine('a2-highgpu-1g')];
    const limited = (seconds: number) => withStrategy(`FLEX_START, timeout: ${seconds}s`, l4, l4);
    expect(found(limited(604_800))).toEqual([]);
    expect(found(limited(604_801))).toEqual(['FLEX_START_TOO_LONG scheduling.timeout']);
    expect(found(withStrategy('FLEX_START', l4, a100))).toEqual([
      'FLEX_START_MIXED_MACHINES workerPoolSpecs[1].machineSpec.machineType',
    ]);
    expect(found(withStrategy('SPOT, timeout: 604801s', l4, a100))).toEqual([]);
  });

  it.each([
    ['workers: {count: 3, spot: true}', [null, 'SPOT']],
    ['workers: {count: 3, spot: false}', [null, null]],
    ['workers: 3\nevaluators: {spot: true}', [null, null, 'SPOT']],
    ['spot: true\nworkers: {spot: true}', [null, null]],
    ['spot: true\nworkers: {spot: false}', [null, 'STANDARD']],
    ['flexStart: true\nworkers: {spot: false}', [null, null]],
  ])('of a group is its own only if it differs from the job’s: %s', (text, models) => {
    const { plan, errors } = validateJobFile(`module: t\nmachine: a2-highgpu-1g\n${text}`, {
      fileName: 'job.yaml',
      context: CONTEXT,
    });
    expect(errors).toEqual([]);
    expect(plan?.groups.map(({ provisioningModel }) => provisioningModel)).toEqual(models);
  });

  it.each([
    [
      'FLEX_START of the job',
      'gpu: L4\nflexStart: true\nworkers: {spot: true}',
      ['CONFLICTING_FIELDS workers.spot', 'Remove workers.spot or flexStart.'],
    ],
    [
      'a reservation',
      'workers: {spot: true, reservation: [projects/p/zones/us-central1-a/reservations/r]}',
      ['RESERVATION_NOT_USABLE workers.reservation', 'Remove the reservation or workers.spot.'],
    ],
    [
      'machines that are not available as Spot VMs',
      'workers: {machine: a4x-highgpu-4g, spot: true}',
      ['RESERVATION_NEEDED workers.spot', 'Remove workers.spot, or choose another machine type.'],
    ],
    [
      'a first machine that is not available on demand',
      'machine: a3-highgpu-1g\nworkers: {spot: true}',
      [
        'WRONG_PROVISIONING_MODEL machine',
        'Write spot: true (as a flag, --spot) or flexStart: true, or choose another machine type.',
      ],
    ],
  ])('of Spot workers is rejected with %s', (_, text, expected) => {
    const { model, found: problems } = provisioningOf(`module: t\n${text}`);
    expect(model).toBeNull();
    expect(problems.map((problem) => [describeProblem(problem), problem.remedy])).toEqual([expected]);
  });

  it('does not apply to TPUs', () => {
    expect(found(withStrategy('SPOT', machine('ct5lp-hightpu-4t')))).toEqual([]);
  });
});
