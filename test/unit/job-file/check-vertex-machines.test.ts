import { describe, expect, it } from 'vitest';
import { clusterOf, machinesOf, planOf, pools, problemsOf, warningsOf } from '../../support/job-file/read-machines.ts';

describe('machines of Vertex AI', () => {
  it('get their role from the pool’s index, and the cluster includes the primary’s count', () => {
    const a2 = 'machineSpec: {machineType: a2-highgpu-8g, acceleratorType: NVIDIA_TESLA_A100, acceleratorCount: 8}';
    const text = `workerPoolSpecs: [{${a2}, replicaCount: 1}, {}, {machineSpec: {machineType: n1-highcpu-16}, replicaCount: 24}]`;
    expect(clusterOf(text)).toEqual({
      master: [1, 'a2-highgpu-8g', { NVIDIA_TESLA_A100: 8 }],
      ps: [24, 'n1-highcpu-16', {}],
    });
    expect(planOf(text)).toEqual(['master 1 a2-highgpu-8g', 'ps 24 n1-highcpu-16']);
  });

  it('may be a single TPU, with its topology', () => {
    const text = pools('machineSpec: {machineType: ct5lp-hightpu-4t, tpuTopology: 4x4}, replicaCount: 1');
    expect(clusterOf(text)).toEqual({ master: [1, 'ct5lp-hightpu-4t', {}, { tpuTopology: '4x4' }] });
    expect(planOf(text)).toEqual(['master 1 ct5lp-hightpu-4t TPU']);
  });

  it('default to one replica per pool, with a warning for all but the first pool', () => {
    const machine = 'machineSpec: {machineType: n1-standard-8}';
    expect(planOf(pools(machine, machine))).toEqual(['master 1 n1-standard-8', 'worker 1 n1-standard-8']);
    expect(warningsOf(pools(machine, machine))).toEqual([
      'POOL_WITHOUT_COUNT workerPoolSpecs[1].machineSpec.machineType',
    ]);
    expect(planOf(pools(machine, `${machine}, replicaCount: 0`))).toEqual(['master 1 n1-standard-8']);
  });

  it.each([
    [
      'several primary replicas',
      ['machineSpec: {machineType: n1-standard-8}, replicaCount: 3'],
      'FIRST_POOL_COUNT workerPoolSpecs[0].replicaCount',
    ],
    [
      'pools without a machine type',
      ['machineSpec: {machineType: n1-standard-8}', 'replicaCount: 3'],
      'MISSING_FIELD workerPoolSpecs[1].machineSpec.machineType',
    ],
    ['no first pool', ['replicaCount: 1'], 'MISSING_FIELD workerPoolSpecs[0].machineSpec.machineType'],
    [
      'a GPU that the API does not have',
      ['machineSpec: {machineType: n1-standard-8, acceleratorType: NVIDIA_T4, acceleratorCount: 1}'],
      'UNKNOWN_ACCELERATOR workerPoolSpecs[0].machineSpec.acceleratorType',
    ],
  ])('cannot be %s', (_, specs, problem) => {
    expect(problemsOf(pools(...specs))).toEqual([problem]);
    expect(machinesOf(pools(...specs)).groups).toBeNull();
  });

  it.each([
    ['a mapping', ['machineSpec: n1-standard-8'], 'WRONG_TYPE workerPoolSpecs[0].machineSpec'],
    [
      'a count',
      [1, 'two'].map((count) => `machineSpec: {machineType: n1-standard-8}, replicaCount: ${count}`),
      'WRONG_TYPE workerPoolSpecs[1].replicaCount',
    ],
  ])('are neither reported missing nor defaulted if %s is unreadable', (_, specs, problem) => {
    expect(problemsOf(pools(...specs))).toEqual([problem]);
    expect(warningsOf(pools(...specs))).toEqual([]);
    expect(machinesOf(pools(...specs)).groups).toBeNull();
  });

  it('with placeholders are shown as written, each placeholder reported once', () => {
    const placeholders = 'machineType: MACHINE_TYPE, acceleratorType: <gpu>, acceleratorCount: ACCELERATOR_COUNT';
    const text = pools(`machineSpec: {${placeholders}}, replicaCount: REPLICA_COUNT`);
    expect(clusterOf(text)).toEqual({ master: ['REPLICA_COUNT', 'MACHINE_TYPE', { '<gpu>': 'ACCELERATOR_COUNT' }] });
    expect(machinesOf(text).groups).toBeNull();
    expect([...problemsOf(text)].sort()).toEqual([
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorCount',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorType',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.machineType',
      'PLACEHOLDER workerPoolSpecs[0].replicaCount',
    ]);
  });
});
