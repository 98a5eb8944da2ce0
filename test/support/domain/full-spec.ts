import type { ContainerProgram, JobSpec } from '#shared/domain/job-spec.ts';
import { queuedJob } from './example-job.ts';

export const container: ContainerProgram = {
  kind: 'CONTAINER',
  imageUri: 'gcr.io/p/trainer:1',
  image: {
    uri: `gcr.io/p/trainer@sha256:${'0'.repeat(64)}`,
    sizeBytes: 5,
    entrypoint: ['/run'],
    cmd: ['train'],
    user: '1000',
    workingDir: '/app',
  },
  command: ['python'],
  args: ['train.py'],
  environment: { A: '1' },
  packageUris: ['gs://b/data.tar.gz'],
  module: 'trainer.task',
};

/** A specification in which every optional field has a value. */
export const fullSpec: JobSpec = {
  ...queuedJob().spec,
  labels: { team: 'vision' },
  health: { nonFinite: 'rollback', stalled: 'restart', stalledAfterMs: 600_000 },
  pythonVersion: '3.12',
  serviceAccount: 'trainer@p.iam.gserviceaccount.com',
  network: 'projects/p/global/networks/n',
  subnetwork: 'projects/p/regions/us-central1/subnetworks/s',
  networkAttachment: 'projects/p/regions/us-central1/networkAttachments/a',
  kmsKeyName: 'projects/p/locations/l/keyRings/r/cryptoKeys/k',
  notify: { channels: ['team'], states: ['FAILED', 'INTERRUPTED'] },
  secrets: { HF_TOKEN: { project: null, secret: 'hf-token', version: 'latest' } },
  replicaGroups: [
    { ...queuedJob().spec.replicaGroups[0], accelerator: { type: 'NVIDIA_TESLA_T4', count: 2 } },
    {
      ...queuedJob().spec.replicaGroups[0],
      role: 'worker',
      reservation: { kind: 'SPECIFIC', names: ['projects/p/zones/z/reservations/r'] },
      program: container,
      provisioningModel: 'SPOT',
    },
  ],
  study: {
    metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }],
    algorithm: 'BAYESIAN',
    trialsMax: 10,
    parallelTrialsMax: 2,
    failedTrialsMax: null,
    earlyStopping: null,
    stoppingConditions: null,
    measurement: 'LAST',
    parameters: [{ id: 'rate', space: { kind: 'DOUBLE', min: 0, max: 1 }, scale: 'LINEAR', children: [] }],
    resumeJobId: null,
    maxCostUsd: null,
  },
};
