import { describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import {
  toTrainingInput,
  toTrainingInputDictionary,
} from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const { spec: SPEC } = queuedJob();
const [MASTER] = SPEC.replicaGroups;

function describeJob(changes: Partial<JobSpec>): Record<string, unknown> {
  return toTrainingInput({ ...SPEC, ...changes });
}

describe('the TrainingInput of a job', () => {
  it('contains all defaults', () => {
    expect(describeJob({ pythonVersion: '3.7' })).toEqual({
      scaleTier: 'CUSTOM',
      masterType: 'n1-standard-4',
      masterConfig: { diskConfig: { bootDiskSizeGb: 100, bootDiskType: 'pd-ssd' } },
      packageUris: ['gs://jobs/digits.tar.gz'],
      pythonModule: 'trainer.task',
      region: 'us-central1',
      jobDir: 'gs://jobs/digits',
      runtimeVersion: '2.11',
      pythonVersion: '3.7',
      scheduling: { maxRunningTime: '3600s' },
    });
  });

  it('has counts of replicas and accelerators as text, as the API writes int64', () => {
    const accelerator = { type: 'nvidia-tesla-t4', count: 2 };
    const groups: JobSpec['replicaGroups'] = [MASTER, { ...MASTER, role: 'ps', count: 3, accelerator }];
    expect(describeJob({ replicaGroups: groups })).toMatchObject({
      parameterServerType: 'n1-standard-4',
      parameterServerCount: '3',
      parameterServerConfig: { acceleratorConfig: { type: 'NVIDIA_TESLA_T4', count: '2' } },
    });
    expect(describeJob({ replicaGroups: groups })).not.toHaveProperty('masterCount');
  });

  it('has an image instead of packages and versions, also for other roles', () => {
    const image = {
      kind: 'CONTAINER',
      image: null,
      packageUris: [],
      module: null,
      command: ['run'],
      args: [],
      environment: { A: 'b' },
    } as const;
    const input = describeJob({
      program: { ...image, imageUri: 'gcr.io/p/a' },
      replicaGroups: [
        MASTER,
        { ...MASTER, role: 'worker', program: { ...image, imageUri: 'gcr.io/p/b', command: [], args: ['1'] } },
        { ...MASTER, role: 'evaluator' },
      ],
    });
    expect(input).toMatchObject({
      masterConfig: { imageUri: 'gcr.io/p/a', containerCommand: ['run'] },
      workerConfig: { imageUri: 'gcr.io/p/b', containerArgs: ['1'] },
    });
    expect(input.evaluatorConfig).not.toHaveProperty('imageUri');
    for (const field of ['packageUris', 'pythonModule', 'args', 'runtimeVersion', 'pythonVersion']) {
      expect(input).not.toHaveProperty(field);
    }
  });

  it('has service account, network and encryption key', () => {
    const changes = { serviceAccount: 'a@b.c', network: 'projects/p/global/networks/n', kmsKeyName: 'k' };
    expect(describeJob(changes)).toMatchObject({
      serviceAccount: 'a@b.c',
      network: 'projects/p/global/networks/n',
      encryptionConfig: { kmsKeyName: 'k' },
    });
  });

  it.each([
    ['STANDARD', undefined],
    ['SPOT', 'LOW_COST'],
    ['FLEX_START', undefined],
  ] as const)('says of %s machines what AI Platform has a word for', (provisioningModel, strategy) => {
    expect(describeJob({ provisioningModel }).scheduling).toEqual({
      maxRunningTime: '3600s',
      ...(strategy && { strategy }),
    });
  });

  it('has a study as HyperparameterSpec, with snake_case keys at every level', () => {
    const study: JobSpec['study'] = {
      metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }],
      algorithm: 'GRID',
      trialsMax: 9,
      parallelTrialsMax: 3,
      failedTrialsMax: 2,
      earlyStopping: { rule: 'AUTOMATIC' },
      stoppingConditions: null,
      measurement: 'LAST',
      parameters: [
        { id: 'rate', space: { kind: 'DOUBLE', min: 0.1, max: 1 }, scale: 'LOG', children: [] },
        { id: 'depth', space: { kind: 'DISCRETE', values: [1, 2] }, scale: 'NONE', children: [] },
        { id: 'kind', space: { kind: 'CATEGORICAL', values: ['A', 'b'] }, scale: 'NONE', children: [] },
      ],
      resumeJobId: 'before',
      maxCostUsd: null,
    };
    expect(toTrainingInputDictionary({ ...SPEC, study }).hyperparameters).toEqual({
      goal: 'MAXIMIZE',
      hyperparameter_metric_tag: 'accuracy',
      algorithm: 'GRID_SEARCH',
      max_trials: 9,
      max_parallel_trials: 3,
      max_failed_trials: 2,
      enable_trial_early_stopping: true,
      resume_previous_job_id: 'before',
      params: [
        { parameter_name: 'rate', type: 'DOUBLE', min_value: 0.1, max_value: 1, scale_type: 'UNIT_LOG_SCALE' },
        { parameter_name: 'depth', type: 'DISCRETE', discrete_values: [1, 2] },
        { parameter_name: 'kind', type: 'CATEGORICAL', categorical_values: ['A', 'b'] },
      ],
    });
  });
});
