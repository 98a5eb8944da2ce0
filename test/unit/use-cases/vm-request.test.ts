import { describe, expect, it } from 'vitest';
import type { Job, JobIn, ReplicaId } from '#shared/domain/job.ts';
import { SETUP_MS_MAX, SETUP_REPORT_MS, TIMEOUTS, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import { METADATA_KEYS, type VmConfig } from '#shared/protocol/vm-config.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import { simulatedJob, simulatedSettings } from '../../simulation/simulated-job.ts';
import { jobAfter } from '../../support/domain/example-job.ts';

const HOUR_MS = 3_600_000;
const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKER: ReplicaId = { role: 'worker', index: 0 };
const fresh = simulatedJob('pair', 0, { maxRunningMs: HOUR_MS, others: [{ role: 'worker', count: 1 }] });

function place(job: Job, at: number): JobIn<'PREPARING'> {
  const placed = jobAfter(job, ['PLACEMENT_CHOSEN', at]);
  if (placed.status !== 'PREPARING') {
    throw new Error(`The job is ${placed.status}.`);
  }
  return placed;
}

function requestFor(job: JobIn<'PREPARING'>, replica: ReplicaId) {
  return vmRequestOf(job, replica, { settings: simulatedSettings, timeouts: TIMEOUTS });
}

function limitsOf(job: JobIn<'PREPARING'>, replica: ReplicaId): VmConfig['limits'] {
  const config = JSON.parse(requestFor(job, replica).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
  return config.limits;
}

function programSecondsOf(job: JobIn<'PREPARING'>, replica: ReplicaId): number {
  return limitsOf(job, replica).maxRunningSeconds;
}

/** Ran for a quarter of an hour, and waited for its next machines for most of a day. */
const second = place(
  jobAfter(
    place(fresh, 0),
    ['VMS_CREATED', 1_000],
    ['REPLICA_STARTED', 60_000],
    ['ATTEMPT_INTERRUPTED', 60_000 + HOUR_MS / 4],
  ),
  20 * HOUR_MS,
);

describe('the secrets of a job', () => {
  it('are told to a VM by their full names, in the deployment’s project unless another is named', () => {
    const secrets = {
      HF_TOKEN: { project: null, secret: 'hf-token', version: '3' },
      WANDB_API_KEY: { project: 'shared-tools', secret: 'wandb', version: 'latest' },
    };
    const job = place({ ...fresh, spec: { ...fresh.spec, secrets } }, 0);
    for (const replica of [MASTER, WORKER]) {
      const { program } = JSON.parse(requestFor(job, replica).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
      expect(program.secrets).toEqual({
        HF_TOKEN: `projects/${simulatedSettings.projectId}/secrets/hf-token/versions/3`,
        WANDB_API_KEY: 'projects/shared-tools/secrets/wandb/versions/latest',
      });
    }
  });
});

describe("a program's time", () => {
  it('is maxRunningTime in the first attempt', () => {
    expect(programSecondsOf(place(fresh, 0), MASTER)).toBe(3_600);
  });

  it('is what earlier attempts have left of it, however long the job waited between them', () => {
    expect(programSecondsOf(second, MASTER)).toBe(2_700);
  });

  it('ends when the control plane says so, too: agent and job count alike in every attempt', () => {
    for (const job of [place(fresh, 0), second]) {
      const startAt = 21 * HOUR_MS;
      const running = jobAfter(job, ['VMS_CREATED', startAt], ['REPLICA_STARTED', startAt]);
      const programMs = programSecondsOf(job, MASTER) * 1_000;
      expect(running).toMatchObject({ wakeAt: startAt + programMs + TIMEOUTS.maxRunningGraceMs });
    }
  });

  it("is longer by a setup for the others, which may wait for the master's program", () => {
    expect(programSecondsOf(second, WORKER)).toBe(2_700 + SETUP_MS_MAX / 1_000);
  });
});

it('has the agent report what hinders its setup before the control plane ends it', () => {
  const config = JSON.parse(requestFor(place(fresh, 0), MASTER).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
  expect(config.limits.setupSeconds).toBe((SETUP_MS_MAX - SETUP_REPORT_MS) / 1_000);
});

it('has the VM deleted by Compute Engine only after every deadline of the control plane', () => {
  const { bootMs, maxRunningGraceMs } = TIMEOUTS;
  const aliveMs = bootMs + SETUP_MS_MAX + HOUR_MS + maxRunningGraceMs + UPLOAD_GRACE_MS;
  expect(requestFor(place(fresh, 0), MASTER).maxRunSeconds).toBe(aliveMs / 1_000);
});

it('carries the agent, what it is told, and the scripts of its start and of the shutdown', () => {
  const keys = ['startup-script', 'shutdown-script', METADATA_KEYS.agent, METADATA_KEYS.config];
  expect(Object.keys(requestFor(place(fresh, 0), MASTER).metadata)).toEqual(keys);
});

it('gives the agent as long for saving outputs as the control plane waits for it', () => {
  const running = jobAfter(place(fresh, 0), ['VMS_CREATED', 0], ['REPLICA_STARTED', 0]);
  const saving = jobAfter(running, ['REPLICA_UPLOADING', 1_000]);
  const { uploadSeconds } = limitsOf(place(fresh, 0), MASTER);
  const endsAt = HOUR_MS + TIMEOUTS.maxRunningGraceMs;
  expect(running).toMatchObject({ status: 'RUNNING', wakeAt: endsAt });
  expect(saving).toMatchObject({ status: 'RUNNING', wakeAt: endsAt + uploadSeconds * 1_000 });
});
