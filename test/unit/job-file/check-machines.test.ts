import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { clusterOf, machinesOf, planOf, pools, problemsOf } from '../../support/job-file/read-machines.ts';

describe('machines of Dropforge’s dialect', () => {
  it.each([
    ['module: t', ['master 1 n1-standard-4']],
    ['module: t\ngpu: 2 x T4', ['master 1 n1-standard-16 nvidia-tesla-t4 2']],
    ['module: t\nworkers: 3', ['master 1 n1-standard-4', 'worker 3 n1-standard-4']],
    [
      'module: t\ngpu: L4\nworkers: {count: 2, machine: n1-highmem-8}',
      ['master 1 g2-standard-8', 'worker 2 n1-highmem-8'],
    ],
    ['module: t\nworkers: 0', ['master 1 n1-standard-4']],
  ])('have defaults: %j', (text, plan) => {
    expect(planOf(text)).toEqual(plan);
    expect(problemsOf(text)).toEqual([]);
  });

  it('have a count, except the first', () => {
    expect(clusterOf('module: t\nevaluators: 2')).toEqual({
      master: ['n1-standard-4', {}],
      evaluator: [2, 'n1-standard-4', {}],
    });
  });

  it('report a problem shared by groups once, with the available numbers of GPUs', () => {
    const { findings } = machinesOf('module: t\ngpu: 3 x A100\nworkers: 2');
    expect(findings.problems).toEqual([
      expect.objectContaining({
        code: 'WRONG_ACCELERATOR_COUNT',
        path: 'gpu',
        remedy: 'Write a count of 1, 2, 4, 8, 16.',
      }),
    ]);
  });
});

describe('any machine', () => {
  const { machineTypes, legacyMachineTypes, tpuMachineTypes, accelerators, tpus } = readCatalog();
  const types = [...machineTypes, ...legacyMachineTypes, ...tpuMachineTypes].map(({ name }) => name);
  const gpus = [...accelerators.map(({ name }) => name), ...tpus];

  it('is either planned or has a problem, and is always among the requested machines', () => {
    fc.assert(
      fc.property(
        fc.record({
          type: fc.constantFrom(...types, '<type>', 'none', '__proto__'),
          gpu: fc.constantFrom(...gpus, 'none', '__proto__'),
          gpuCount: fc.integer({ min: -1, max: 17 }),
          count: fc.integer({ min: -1, max: 1_001 }),
        }),
        ({ type, gpu, gpuCount, count }) => {
          const spec = `{machineType: "${type}", acceleratorType: ${gpu}, acceleratorCount: ${gpuCount}}`;
          const { groups, requested, findings } = machinesOf(
            pools('machineSpec: {machineType: n1-standard-4}', `machineSpec: ${spec}, replicaCount: ${count}`),
          );
          expect(groups === null).toBe(findings.problems.length > 0);
          expect(requested).toHaveLength(count > 0 ? 2 : 1);
          for (const { message, remedy } of [...findings.problems, ...findings.warnings]) {
            expect(`${message} ${remedy}`).not.toMatch(/undefined|null|\[object|NaN/);
          }
        },
      ),
    );
  });
});
