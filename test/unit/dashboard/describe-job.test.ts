import { expect, it } from 'vitest';
import { summarizeMachines } from '#dashboard/format/format-machines.ts';
import { pullOf } from '#dashboard/screens/job/progress.ts';
import { describeProgress } from '#dashboard/screens/jobs/describe-progress.ts';
import { replicaOf, viewOf } from '../../support/cli/test-cloud.ts';

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

it('a pull is that of all replicas which download an image', () => {
  const done = replicaOf({ replica: 'master-0' });
  const [first, second] = [30, 50].map((doneBytes) => replicaOf({ transfer: { doneBytes, totalBytes: 100 } }));
  expect(pullOf({ replicas: [done] })).toBeNull();
  expect(pullOf({ replicas: [done, first, second].filter((one) => one !== undefined) })).toEqual({
    ...{ doneBytes: 80, totalBytes: 200, replicaCount: 2 },
  });
});

it('a job in the list that pulls an image says how far', () => {
  const pulling = replicaOf({ step: null, transfer: { doneBytes: 30, totalBytes: 120 } });
  const job = viewOf('pulling', { state: 'PREPARING', endTime: null, replicas: [pulling] });
  expect(describeProgress(job, 0)).toEqual({ fraction: 0.25, text: 'pulling, 25%', leftMs: null });
});
