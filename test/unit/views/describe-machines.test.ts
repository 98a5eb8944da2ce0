import { expect, it } from 'vitest';
import { summarizeMachines } from '#shared/views/describe/describe-machines.ts';

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
