import type { Job } from '#shared/domain/job.ts';
import type { VmSettings } from '#shared/pipeline/vm-request.ts';

export const ZONES = ['us-central1-a', 'us-central1-b', 'us-central1-c'];

const DAY_MS = 24 * 3_600_000;

export function simulatedJob(jobId: string, createdAt: number, maxRunningMs = DAY_MS): Job {
  return {
    status: 'QUEUED',
    isBackingOff: false,
    wakeAt: createdAt + 180_000,
    jobId,
    spec: {
      jobId,
      labels: {},
      replicaGroups: [{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null, bootDiskGib: 100 }],
      program: { packageUris: ['gs://jobs/p.tar.gz'], module: 'trainer.task', args: [] },
      region: 'us-central1',
      provisioningModel: 'STANDARD',
      runtimeVersion: '2.11',
      pythonVersion: null,
      jobDir: `gs://jobs/${jobId}`,
      limits: { maxRunningMs, maxWaitMs: null, restartsMax: 0 },
    },
    packages: [],
    source: {
      uri: 'gs://uploads/job.yaml',
      deliveryId: '1',
      reportUri: 'gs://uploads/job.yaml.report.json',
      digest: jobId,
    },
    warnings: [],
    createdAt,
    attempt: 1,
    placementTry: 1,
    refusedZones: [],
    zones: ZONES,
    firstRanAt: null,
    counts: { interruptions: 0, interruptionsInRow: 0, bootFailuresInRow: 0, restarts: 0, refusals: 0 },
    ledger: [],
    waitingFor: null,
  };
}

export const simulatedSettings: VmSettings = {
  projectId: 'simulation',
  endpoints: {
    heartbeatUrl: 'http://heartbeat.invalid/',
    heartbeatAudience: 'heartbeat',
    storageUrl: 'http://storage.invalid',
    loggingUrl: 'http://logging.invalid',
  },
  intervals: { heartbeatSeconds: 30, syncSeconds: 10, logSeconds: 2 },
  limits: { stopGraceSeconds: 20, deadManSeconds: 600, logBytesMax: 1, diskBytesMax: 1_000 },
  startupScript: '#!/bin/bash',
  agent: '',
  machineImageOf: () => 'runtime-2-11',
};
