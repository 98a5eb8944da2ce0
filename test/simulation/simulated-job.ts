import { DEADLINES } from '#shared/domain/deadlines.ts';
import type { Job } from '#shared/domain/job.ts';
import type { VmSettings } from '#shared/pipeline/vm-request.ts';
import { queuedJob } from '../unit/domain/example-job.ts';

export const ZONES = ['us-central1-a', 'us-central1-b', 'us-central1-c'];

const DAY_MS = 24 * 3_600_000;

/** A job that was accepted at this time, with three zones to go to. */
export function simulatedJob(jobId: string, createdAt: number, maxRunningMs = DAY_MS): Job {
  const job = queuedJob({ maxRunningMs });
  const wakeAt = createdAt + DEADLINES.provisionAnswerMs;
  return { ...job, jobId, spec: { ...job.spec, jobId }, zones: ZONES, createdAt, wakeAt };
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
  clusterAddressOf: ({ vmName }) => `${vmName}:2222`,
};
