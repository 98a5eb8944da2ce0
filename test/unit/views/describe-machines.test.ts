import { expect, it } from 'vitest';
import { describeGroup, listModels, summarizeMachines } from '#shared/views/describe/describe-machines.ts';

it('machines are counted by type', () => {
  const trainers = { machineType: 'a2-highgpu-1g', accelerator: '1 x NVIDIA_TESLA_A100' };
  const evaluators = { role: 'evaluator', count: 1, machineType: 'n1-standard-4', accelerator: null };
  const groups = [{ role: 'master', count: 1, ...trainers }, { role: 'worker', count: 3, ...trainers }, evaluators];
  expect(summarizeMachines(groups)).toEqual({
    machines: '4 × a2-highgpu-1g + n1-standard-4',
    gpus: '4 × A100',
  });
  expect(summarizeMachines([])).toEqual({ machines: '–', gpus: null });
});

it('a group has its provisioning model if it is not the job’s', () => {
  const master = { role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null };
  const workers = { ...master, role: 'worker', count: 3, provisioningModel: 'SPOT' };
  expect([master, workers].map(describeGroup)).toEqual([
    '1 master on n1-standard-4',
    '3 worker on n1-standard-4 (Spot)',
  ]);
  expect(listModels([master, workers], 'STANDARD')).toEqual(['STANDARD', 'SPOT']);
  expect(listModels([master, workers], 'SPOT')).toEqual(['SPOT']);
  expect(listModels([master, workers], null)).toEqual([]);
});
