import { describe, expect, it } from 'vitest';
import { HEALTH_FIELDS } from '#shared/domain/health.ts';
import type { Job, JobIn, ReplicaId } from '#shared/domain/job.ts';
import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import { SETUP_MS_MAX, SETUP_REPORT_MS, TIMEOUTS, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import { METADATA_KEYS, type VmConfig } from '#shared/protocol/vm-config.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import { simulatedJob, simulatedSettings } from '../../simulation/simulated-job.ts';
import { jobAfter } from '../../support/domain/example-job.ts';

const HOUR_MS = 3_600_000;
const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKER: ReplicaId = { role: 'worker', index: 0 };
const accepted = simulatedJob('pair', 0, { maxRunningMs: HOUR_MS, others: [{ role: 'worker', count: 1 }] });

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

/** Has run for a quarter of an hour, and waited for its next VMs for most of a day. */
const second = place(
  jobAfter(
    place(accepted, 0),
    ['VMS_CREATED', 1_000],
    ['REPLICA_STARTED', 60_000],
    ['ATTEMPT_INTERRUPTED', 60_000 + HOUR_MS / 4],
  ),
  20 * HOUR_MS,
);

it('requests Spot workers beside an on-demand master, with the same time to run', () => {
  const others = [{ role: 'worker', count: 1, provisioningModel: 'SPOT' }] as const;
  const job = place(simulatedJob('pair', 0, { maxRunningMs: 130 * 24 * HOUR_MS, others }), 0);
  const { provisioningModel, maxRunSeconds, capacityWaitSeconds } = requestFor(job, MASTER);
  expect([provisioningModel, capacityWaitSeconds]).toEqual(['STANDARD', null]);
  expect(requestFor(job, WORKER)).toMatchObject({ provisioningModel: 'SPOT', maxRunSeconds, capacityWaitSeconds });
  expect(job.placement.provisioningModel).toBe('STANDARD');
});

it('names the setting that limits the disk: the boot disk of the job, or the configuration', () => {
  const limitsWith = (diskBytesMax: number) => {
    const settings = { ...simulatedSettings, limits: { ...simulatedSettings.limits, diskBytesMax } };
    const request = vmRequestOf(place(accepted, 0), MASTER, { settings, timeouts: TIMEOUTS });
    return (JSON.parse(request.metadata[METADATA_KEYS.config] ?? '') as VmConfig).limits;
  };
  expect(limitsWith(1_000)).toMatchObject({ diskBytesMax: 1_000, diskSetting: 'diskBytesMax' });
  expect(limitsWith(2 ** 60)).toMatchObject({ diskBytesMax: 0.95 * 100 * 2 ** 30, diskSetting: 'bootDiskSizeGb' });
});

it('leaves an interrupted attempt time to save only if it ran, and its master can have outlived another replica', () => {
  const neverRan = place(jobAfter(place(accepted, 0), ['VMS_CREATED', 1_000], ['ATTEMPT_INTERRUPTED', 60_000]), 80_000);
  const ran = jobAfter(
    place(accepted, 0),
    ['VMS_CREATED', 1_000],
    ['REPLICA_STARTED', 60_000],
    ['ATTEMPT_INTERRUPTED', 90_000],
  );
  const soon = place(ran, 100_000);
  // The second attempt was lost before it ran, while the first one could still save.
  const third = place(
    jobAfter(soon, ['VMS_CREATED', 101_000], ['ATTEMPT_INTERRUPTED', 110_000], ['DEADLINE_PASSED', 130_000]),
    131_000,
  );
  const [group] = soon.spec.replicaGroups;
  const alone = { ...soon, spec: { ...soon.spec, replicaGroups: [group] as const } };
  const seconds = [soon, third, place(ran, 141_000), place(accepted, 0), neverRan, alone].map(
    (job) => limitsOf(job, MASTER).earlierSaveSeconds,
  );
  expect(seconds).toEqual([20 + 30, 20 + 30, 0, 0, 0, 0]);
});

describe('the cluster of the agents', () => {
  const peersOf = (others: Parameters<typeof simulatedJob>[2], replica: ReplicaId) => {
    const config = requestFor(place(simulatedJob('pair', 0, others), 0), replica).metadata[METADATA_KEYS.config];
    return (JSON.parse(config ?? '') as VmConfig).peers;
  };

  it('has the agent of the master, and all replicas in the order of their ranks, for every one of them', () => {
    const others = [{ role: 'worker', count: 2 } as const, { role: 'evaluator', count: 1 } as const];
    const expected = {
      address: `${requestFor(place(accepted, 0), MASTER).vmName}:2221`,
      replicas: ['master-0', 'worker-0', 'worker-1', 'evaluator-0'],
    };
    expect(peersOf({ others }, MASTER)).toEqual(expected);
    expect(peersOf({ others }, { role: 'evaluator', index: 0 })).toEqual(expected);
  });

  it('is none for a job with one replica', () => {
    expect(peersOf({}, MASTER)).toBeNull();
  });
});

describe('the cluster of a job', () => {
  const configOf = (job: Job, replica: ReplicaId) =>
    JSON.parse(requestFor(place(job, 0), replica).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
  const vertex = { ...accepted, spec: { ...accepted.spec, service: 'VERTEX_AI' as const } };

  it('has worker pools in the format of Vertex AI, and its job', () => {
    const { cluster, clusterSpec } = configOf(vertex, WORKER).spec;
    expect(clusterSpec?.cluster).toEqual({ workerpool0: cluster.chief, workerpool1: cluster.worker });
    expect(clusterSpec?.job).toMatchObject({
      worker_pool_specs: [{ replica_count: '1' }, { replica_count: '1' }],
      base_output_directory: { output_uri_prefix: accepted.spec.jobDir },
    });
  });

  it('has none in the format of AI Platform', () => {
    expect(
      configOf({ ...accepted, spec: { ...accepted.spec, service: 'AI_PLATFORM' } }, MASTER).spec.clusterSpec,
    ).toBeNull();
  });
});

it('has each list of arguments once, and says where else the agent needs it', () => {
  const program = { ...accepted.spec.program, args: ['--data', 'x'.repeat(1_000), '--lr=0.1'] };
  const [master, worker] = accepted.spec.replicaGroups;
  const others = { ...program, args: ['--data', 'x'.repeat(1_000)] };
  const replicaGroups = [master, { ...master, ...worker, program: others }] as const;
  const spec = { ...accepted.spec, service: 'VERTEX_AI', program, replicaGroups } as const;
  const text = requestFor(place({ ...accepted, spec }, 0), MASTER).metadata[METADATA_KEYS.config] ?? '';
  expect(text.split('x'.repeat(1_000))).toHaveLength(2);
  const pool = (index: number) => [
    'spec',
    'clusterSpec',
    'job',
    'worker_pool_specs',
    index,
    'python_package_spec',
    'args',
  ];
  const of = ['spec', 'args'];
  expect((JSON.parse(text) as VmConfig).repeatedArguments).toEqual([
    { at: ['spec', 'trainingInput', 'args'], of, start: 0, end: 3 },
    { at: pool(0), of, start: 0, end: 3 },
    { at: pool(1), of, start: 0, end: 2 },
  ]);
});

describe('the secrets of a job', () => {
  it('are passed to a VM as full resource names, in the deployment’s project unless another is named', () => {
    const secrets = {
      HF_TOKEN: { project: null, secret: 'hf-token', version: '3' },
      WANDB_API_KEY: { project: 'shared-tools', secret: 'wandb', version: 'latest' },
    };
    const job = place({ ...accepted, spec: { ...accepted.spec, secrets } }, 0);
    for (const replica of [MASTER, WORKER]) {
      const config = JSON.parse(requestFor(job, replica).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
      expect(config.secrets).toEqual({
        HF_TOKEN: `projects/${simulatedSettings.projectId}/secrets/hf-token/versions/3`,
        WANDB_API_KEY: 'projects/shared-tools/secrets/wandb/versions/latest',
      });
    }
  });
});

describe('the run of Weights & Biases', () => {
  const environmentOf = (job: JobIn<'PREPARING'>, replica: ReplicaId) =>
    (JSON.parse(requestFor(job, replica).metadata[METADATA_KEYS.config] ?? '') as VmConfig).spec.environment;
  const setting = (environment: Record<string, string>) =>
    place({ ...accepted, spec: { ...accepted.spec, program: { ...accepted.spec.program, environment } } }, 0);

  it('is one over all attempts, with an id that its service accepts, and another in another submission', () => {
    const first = environmentOf(place(accepted, 0), MASTER);
    expect(first).toEqual({
      WANDB_RUN_ID: expect.stringMatching(/^pair-[0-9a-f]{8}$/),
      WANDB_RESUME: 'allow',
      WANDB_RUN_GROUP: 'pair',
    });
    expect(second.attempt).toBe(2);
    expect(environmentOf(second, MASTER)).toEqual(first);
    const again = environmentOf(place({ ...accepted, createdAt: accepted.createdAt + 1 }, 0), MASTER);
    expect(again.WANDB_RUN_ID).not.toBe(first.WANDB_RUN_ID);
    const long = place({ ...accepted, jobId: 'j'.repeat(128) }, 0);
    const ids = [MASTER, WORKER, { role: 'evaluator', index: 99_999 } as const].map(
      (replica) => environmentOf(long, replica).WANDB_RUN_ID,
    );
    expect(ids.map((id) => id?.length)).toEqual([48, 57, 64]);
  });

  it('is one of each replica, in the group of the job; in that of the tuning for a trial, and in none alone', () => {
    const master = environmentOf(place(accepted, 0), MASTER);
    const worker = environmentOf(place(accepted, 0), WORKER);
    expect(worker).toEqual({ ...master, WANDB_RUN_ID: `${master.WANDB_RUN_ID}-worker-0` });
    const trial = { tuningId: 'search_1', ordinal: 7, metricIds: ['loss'] };
    expect(environmentOf(place({ ...accepted, trial }, 0), MASTER).WANDB_RUN_GROUP).toBe('search_1');
    const [group] = accepted.spec.replicaGroups;
    const alone = place({ ...accepted, spec: { ...accepted.spec, replicaGroups: [group] } }, 0);
    expect(Object.keys(environmentOf(alone, MASTER))).toEqual(['WANDB_RUN_ID', 'WANDB_RESUME']);
  });

  it('is the one that the job sets, in env or as a secret, and none of ours if that is empty', () => {
    const own = environmentOf(setting({ WANDB_RUN_ID: 'mine', WANDB_RUN_GROUP: '', LEVEL: '' }), MASTER);
    expect(own).toEqual({ WANDB_RUN_ID: 'mine', WANDB_RESUME: 'allow', LEVEL: '' });
    const secrets = { WANDB_RUN_ID: { project: null, secret: 'run', version: '1' } };
    const secret = environmentOf(place({ ...accepted, spec: { ...accepted.spec, secrets } }, 0), MASTER);
    expect(Object.keys(secret)).toEqual(['WANDB_RESUME', 'WANDB_RUN_GROUP']);
  });
});

it('has an action for each finding, and none that the replica cannot take', () => {
  const health = { nonFinite: 'rollback', stalled: 'restart' } as const;
  const actionsOf = (role: ReplicaId['role']) => {
    const job = place({ ...accepted, spec: { ...accepted.spec, health } }, 0);
    const { metadata } = requestFor(job, { role, index: 0 });
    return (JSON.parse(metadata[METADATA_KEYS.config] ?? '') as VmConfig).health.actions;
  };
  const defaults = Object.fromEntries(Object.values(HEALTH_FIELDS).map(({ code, actions }) => [code, actions[0]]));
  expect(actionsOf('master')).toEqual({ ...defaults, NON_FINITE: 'rollback', STALLED: 'restart' });
  expect(actionsOf('worker')).toEqual({ ...defaults, NON_FINITE: 'warn', STALLED: 'restart' });
  const waiting = { ...defaults, NON_FINITE: 'warn', STALLED: 'ignore', GPU_IDLE: 'ignore' };
  expect([actionsOf('ps'), actionsOf('evaluator')]).toEqual([waiting, waiting]);
});

describe("a program's running time", () => {
  it('is maxRunningTime in the first attempt', () => {
    expect(programSecondsOf(place(accepted, 0), MASTER)).toBe(3_600);
  });

  it('is what earlier attempts have left, however long the job waited between them', () => {
    expect(programSecondsOf(second, MASTER)).toBe(2_700);
  });

  it('ends for agent and control plane at the same time in every attempt', () => {
    for (const job of [place(accepted, 0), second]) {
      const startAt = 21 * HOUR_MS;
      const running = jobAfter(job, ['VMS_CREATED', startAt], ['REPLICA_STARTED', startAt]);
      const programMs = programSecondsOf(job, MASTER) * 1_000;
      expect(running).toMatchObject({ wakeAt: startAt + programMs + TIMEOUTS.maxRunningGraceMs });
    }
  });

  it("is longer by a setup for other replicas, which may wait for the master's program", () => {
    expect(programSecondsOf(second, WORKER)).toBe(2_700 + SETUP_MS_MAX / 1_000);
  });
});

it('lets the agent report a setup timeout before the control plane ends the job', () => {
  const config = JSON.parse(requestFor(place(accepted, 0), MASTER).metadata[METADATA_KEYS.config] ?? '') as VmConfig;
  expect(config.limits.setupSeconds).toBe((SETUP_MS_MAX - SETUP_REPORT_MS) / 1_000);
});

it('sets maxRunDuration to more than every timeout of the control plane', () => {
  const { bootMs, maxRunningGraceMs } = TIMEOUTS;
  const aliveMs = bootMs + SETUP_MS_MAX + HOUR_MS + maxRunningGraceMs + UPLOAD_GRACE_MS;
  expect(requestFor(place(accepted, 0), MASTER).maxRunSeconds).toBe(aliveMs / 1_000);
});

it('contains the agent, its configuration, and the startup and shutdown scripts', () => {
  const keys = ['startup-script', 'shutdown-script', METADATA_KEYS.agent, METADATA_KEYS.config];
  expect(Object.keys(requestFor(place(accepted, 0), MASTER).metadata)).toEqual(keys);
});

it('gives the agent as long for uploading outputs as the control plane waits', () => {
  const running = jobAfter(place(accepted, 0), ['VMS_CREATED', 0], ['REPLICA_STARTED', 0]);
  const uploading = jobAfter(running, ['REPLICA_UPLOADING', 1_000]);
  const { uploadSeconds } = limitsOf(place(accepted, 0), MASTER);
  const endsAt = HOUR_MS + TIMEOUTS.maxRunningGraceMs;
  expect(running).toMatchObject({ status: 'RUNNING', wakeAt: endsAt });
  expect(uploading).toMatchObject({ status: 'RUNNING', wakeAt: endsAt + uploadSeconds * 1_000 });
});

describe('the GPUs that the agent awaits', () => {
  const gpusOf = (machineType: string, accelerator: ReplicaGroup['accelerator'], hasRequestedGpus = true) => {
    const job = place(accepted, 0);
    const [first, ...others] = job.spec.replicaGroups;
    const spec = { ...job.spec, replicaGroups: [{ ...first, machineType, accelerator }, ...others] as const };
    const settings = { ...simulatedSettings, hasRequestedGpus };
    const { metadata } = vmRequestOf({ ...job, spec }, MASTER, { settings, timeouts: TIMEOUTS });
    return (JSON.parse(metadata[METADATA_KEYS.config] ?? '') as VmConfig).gpuCount;
  };

  it('are those that are attached to the machine or that its type includes', () => {
    expect(gpusOf('n1-standard-8', { type: 'nvidia-tesla-t4', count: 2 })).toBe(2);
    expect(gpusOf('g2-standard-24', null)).toBe(2);
    expect(gpusOf('n1-standard-8', null)).toBe(0);
    // A quarter of a GPU is one device.
    expect(gpusOf('g4-standard-12', null)).toBe(1);
  });

  it('are none where VMs do not have what they request, as in the embedded cloud', () => {
    expect(gpusOf('n1-standard-8', { type: 'nvidia-tesla-t4', count: 2 }, false)).toBe(0);
  });
});
