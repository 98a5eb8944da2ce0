import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { findRoot } from '#shared/diagnosis/find-root.ts';
import { EXIT_REASONS } from '#shared/domain/exit-report.ts';
import type { JobIn } from '#shared/domain/job.ts';
import type { ContainerProgram } from '#shared/domain/job-spec.ts';
import { programOptionsSchema } from '#shared/domain/job-spec.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import {
  type Heartbeat,
  heartbeatAnswerSchema,
  heartbeatSchema,
  PROTOCOL_VERSION,
} from '#shared/protocol/heartbeat.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { SERVICE_VARIABLES } from '#shared/protocol/service-variables.ts';
import { METADATA_KEYS, vmConfigSchema } from '#shared/protocol/vm-config.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';
import { simulatedSettings } from '../../simulation/simulated-job.ts';
import { noLog } from '../../support/collected-log.ts';
import { INSTANCE, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

/**
 * The files of shared/protocol/golden bind both languages: here they are parsed strictly and produced by the TypeScript
 * senders, and infra/vm-agent/tests/test_protocol.py reads and produces the same files with the agent's code.
 */
const FOLDER = new URL('../../../shared/protocol/golden/', import.meta.url);

function golden(name: string): unknown {
  return parseJson(readFileSync(new URL(name, FOLDER), 'utf8'));
}

/** The schema of each file; null for a file that is not parsed here. */
const SCHEMAS: Readonly<Record<string, z.ZodType | null>> = {
  // Constants here, compared below.
  'exit-reasons.json': null,
  'hardware-xids.json': null,
  'heartbeat-answer.json': heartbeatAnswerSchema,
  'heartbeat-answer-cluster.json': heartbeatAnswerSchema,
  'heartbeat-answer-early-stop.json': heartbeatAnswerSchema,
  'heartbeat-answer-kept.json': heartbeatAnswerSchema,
  'heartbeat-exited.json': heartbeatSchema,
  'heartbeat-interrupted.json': heartbeatSchema,
  'heartbeat-running.json': heartbeatSchema,
  'heartbeat-trial.json': heartbeatSchema,
  'heartbeat-unhealthy.json': heartbeatSchema,
  'heartbeat-warnings.json': heartbeatSchema,
  // Parsed in test/unit/protocol/series-part.test.ts.
  'series-part.json': null,
  'service-variables.json': null,
  'vm-config.json': vmConfigSchema,
  'vm-config-container.json': vmConfigSchema,
};

const PARSED = Object.entries(SCHEMAS).flatMap(([name, schema]) => (schema === null ? [] : [[name, schema] as const]));

/** Objects whose keys are the user's: any of them may be missing. */
const OPEN_OBJECTS = [
  'spec.environment',
  'secrets',
  'spec.cluster',
  'spec.trainingInput',
  'progress.metrics',
  'progress.nonFinite',
  'measurements.0.values',
  'measurements.1.values',
];

/**
 * Fields that may be missing: most heartbeats report no interruption, no warning and no finding, and a configuration
 * has those actions of findings that its job names.
 */
const OPTIONAL_FIELDS = [
  ...['notice', 'programEnd', 'pendingExit', 'reboot', 'progress.nonFinite', 'exit.savedNothing'],
  // A field of the heartbeat; the agent's tests require it of a configuration.
  'health',
  ...['exit.health', 'health.nonFinite', 'health.stalled', 'health.stalledAfterSeconds'],
  // Only trials of a tuning have them.
  'measurements',
  'isEarlyStop',
  // Only jobs that keep the VM of a failed program have them.
  'keepSeconds',
  // Only replicas of a cluster get it.
  'peerSecret',
];

/** Every path to a required key of the value, through arrays too. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null || OPEN_OBJECTS.includes(path.join('.'))) {
    return [];
  }
  return Object.entries(value).flatMap(([key, entry]) => {
    const isOptional = OPTIONAL_FIELDS.includes([...path, key].join('.'));
    const own = Array.isArray(value) || isOptional ? [] : [[...path, key]];
    return [...own, ...pathsOf(entry, [...path, key])];
  });
}

function without(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  const copy = structuredClone(value) as Record<string, unknown>;
  if (rest.length === 0) {
    delete copy[key];
  } else {
    copy[key] = without(copy[key], rest);
  }
  return copy;
}

describe('the golden files', () => {
  it('are all known to this test', () => {
    const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));
    expect(names.sort()).toEqual(Object.keys(SCHEMAS).sort());
  });

  it.each(PARSED)('%s has exactly the fields of its schema', (name, schema) => {
    expect(schema.parse(golden(name))).toEqual(golden(name));
  });

  it.each(PARSED)('%s is rejected without any one of its fields', (name, schema) => {
    const value = golden(name);
    const paths = pathsOf(value);
    expect(paths.length).toBeGreaterThan(0);
    const accepted = paths.filter((path) => schema.safeParse(without(value, path)).success);
    expect(accepted.map((path) => path.join('.'))).toEqual([]);
  });

  it.each(['heartbeat-running.json', 'heartbeat-interrupted.json', 'heartbeat-exited.json'])(
    '%s is of this version',
    (name) => {
      expect(golden(name)).toMatchObject({ protocol: PROTOCOL_VERSION });
    },
  );

  it('have heartbeats that are accepted from VMs of the version before, and of no other version', () => {
    const heartbeat = Object(golden('heartbeat-running.json'));
    const versions = [-2, -1, 0, 1].map((difference) => PROTOCOL_VERSION + difference);
    const accepted = versions.filter((protocol) => heartbeatSchema.safeParse({ ...heartbeat, protocol }).success);
    expect(accepted).toEqual([PROTOCOL_VERSION - 1, PROTOCOL_VERSION]);
  });

  it('have the version in which the startup script reports that the agent cannot be fetched', () => {
    const script = readFileSync(new URL('../../../infra/vm-agent/startup.sh', import.meta.url), 'utf8');
    expect(script).toContain(`'protocol': ${PROTOCOL_VERSION},`);
  });
});

/** The second attempt of the golden job, after the first was preempted. */
function goldenJob(): JobIn<'PREPARING'> {
  const job = queuedJob({ maxRunningMs: 604_800_000, keepOnFailureMs: 1_800_000 });
  const jobId = 'digits_20261121';
  const packageUri = 'gs://dropforge-local-jobs/digits/packages/ab12/digits-0.1.tar.gz';
  const program = {
    kind: 'PYTHON',
    packageUris: [packageUri],
    module: 'trainer.task',
    args: ['--epochs', '10'],
    environment: { DATA: 'gs://data/digits', CACHE: '$(DATA)/cache' },
  } as const;
  const spec = {
    ...job.spec,
    jobId,
    program,
    jobDir: 'gs://dropforge-local-jobs/digits',
    programOptions: programOptionsSchema.parse(vmConfigSchema.parse(golden('vm-config.json')).options),
    health: { nonFinite: 'warn', stalled: 'restart', stalledAfterMs: 1_800_000 } as const,
    secrets: { HF_TOKEN: { project: null, secret: 'hf-token', version: '3' } },
  };
  const layout = {
    style: 'PROJECT',
    root: 'digits-0.1',
    importRoots: ['digits-0.1'],
    program: { kind: 'MODULE', path: 'digits-0.1/trainer/task.py' },
    workingDirectory: null,
    requirementFiles: ['digits-0.1/requirements.txt'],
    requirements: ['einops==0.8.1'],
  } as const;
  const object = { uri: packageUri, generation: '1763700000000001', crc32c: 'yZRlqg==', sizeBytes: 61_234 };
  const packages = [{ ...object, layouts: [{ module: 'trainer.task', layout }] }];
  const trial = { tuningId: 'digits', ordinal: 7, metricIds: ['accuracy', 'loss'] };
  const placed = jobAfter(
    { ...job, jobId, spec, packages, trial },
    ['PLACEMENT_CHOSEN', 1_000],
    ['ATTEMPT_INTERRUPTED', 2_000],
    ['PLACEMENT_CHOSEN', 3_000],
  );
  if (placed.status !== 'PREPARING') {
    throw new Error(`The job is ${placed.status}.`);
  }
  return placed;
}

/** The same with a worker. */
function goldenCluster(): JobIn<'PREPARING'> {
  const job = goldenJob();
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker' }] } };
}

const settings: VmSettings = {
  ...simulatedSettings,
  projectId: 'dropforge-local',
  endpoints: {
    heartbeatUrl: 'http://127.0.0.1:8085/heartbeat',
    heartbeatAudience: 'https://dropforge.example/heartbeat',
    storageUrl: 'http://127.0.0.1:8084',
    loggingUrl: 'http://127.0.0.1:8084',
    secretManagerUrl: 'http://127.0.0.1:8084',
  },
  intervals: { heartbeatSeconds: 15, syncSeconds: 10, logSeconds: 2 },
  cachedEnvironments: cachedEnvironmentsIn('dropforge-local-cache'),
  limits: {
    stopGraceSeconds: 20,
    preemptionNoticeSeconds: 120,
    controlPlaneTimeoutSeconds: 600,
    logBytesMax: 268_435_456,
    diskBytesMax: 105_000_000_000,
  },
};

describe('the TypeScript sender', () => {
  let database: Database;

  beforeEach(() => {
    database = openDatabase(':memory:');
  });

  afterEach(() => database.close());

  it('produces the VM configuration', () => {
    const request = vmRequestOf(goldenJob(), { role: 'master', index: 0 }, { settings, timeouts: TIMEOUTS });
    expect(parseJson(request.metadata[METADATA_KEYS.config] ?? '')).toEqual(golden('vm-config.json'));
  });

  it('produces the VM configuration of the container of a cluster', () => {
    const job = goldenCluster();
    const program: ContainerProgram = {
      ...job.spec.program,
      kind: 'CONTAINER',
      imageUri: 'us-docker.pkg.dev/lab/trainers/digits:1',
      image: {
        uri: `us-docker.pkg.dev/lab/trainers/digits@sha256:${'ab'.repeat(32)}`,
        sizeBytes: 734_003_200,
        entrypoint: ['/entry'],
        cmd: [],
        user: '1000:1000',
        workingDir: '/app',
      },
      command: [],
      module: 'trainer.task',
    };
    const programOptions = { ...job.spec.programOptions, metricsFromOutput: undefined };
    const inContainer = { ...job, spec: { ...job.spec, program, programOptions } };
    const secret = 'projects/dropforge-local/secrets/ghcr/versions/latest';
    const imageCredentialsOf = () => ({ credentials: 'SECRET', credentialsSecret: secret }) as const;
    const context = { settings: { ...settings, imageCredentialsOf }, timeouts: TIMEOUTS };
    const request = vmRequestOf(inContainer, { role: 'master', index: 0 }, context);
    // The limits and the TrainingInput are those of the other file.
    const partOf = (config: unknown) => {
      const { spec, limits: _, repeatedArguments: _other, ...others } = vmConfigSchema.parse(config);
      return { ...others, spec: { ...spec, trainingInput: null } };
    };
    const produced = partOf(parseJson(request.metadata[METADATA_KEYS.config] ?? ''));
    expect(produced).toEqual(partOf(golden('vm-config-container.json')));
  });

  it('produces the answer to a heartbeat', async () => {
    const jobs = openSqliteJobStore(database);
    const replicas = openSqliteReplicaStore(database);
    const job = jobAfter(goldenJob(), ['ATTEMPT_INTERRUPTED', 4_000]);
    await jobs.create(job, []);
    const heartbeat = golden('heartbeat-running.json') as Heartbeat;
    const sender = { vmName: 'df-digits', instanceId: '1', zone: 'us-central1-a', serviceAccount: null, at: 5_000 };
    const [tunings, curves] = [openSqliteTuningStore(database), openSqliteCurveStore(database)];
    const ports = {
      jobs,
      replicas,
      tunings,
      curves,
      bus: { publish: async () => 'id' },
      updates: noUpdates,
      timeouts: TIMEOUTS,
      deploymentKey: openSqliteDeploymentKey(database),
      logger: noLog,
    };
    expect(await recordHeartbeat(ports, heartbeat, sender)).toEqual(golden('heartbeat-answer.json'));
  });

  it('produces the answer to the heartbeat of a replica of a cluster', async () => {
    const jobs = openSqliteJobStore(database);
    await jobs.create(goldenCluster(), []);
    const heartbeat = golden('heartbeat-running.json') as Heartbeat;
    const vmName = vmNameOf('digits_20261121', 2, INSTANCE);
    const sender = { vmName, instanceId: '1', zone: 'us-central1-a', serviceAccount: null, at: 5_000 };
    const ports = {
      jobs,
      replicas: openSqliteReplicaStore(database),
      tunings: openSqliteTuningStore(database),
      curves: openSqliteCurveStore(database),
      bus: { publish: async () => 'id' },
      updates: noUpdates,
      timeouts: TIMEOUTS,
      deploymentKey: { read: async () => 'k'.repeat(32) },
      logger: noLog,
    };
    expect(await recordHeartbeat(ports, heartbeat, sender)).toEqual(golden('heartbeat-answer-cluster.json'));
  });

  it('produces the answer to the heartbeat of a trial that is stopped early', async () => {
    const jobs = openSqliteJobStore(database);
    const [tunings, curves] = [openSqliteTuningStore(database), openSqliteCurveStore(database)];
    const replicas = openSqliteReplicaStore(database);
    const vmName = vmNameOf('digits_20261121', 2, INSTANCE);
    const running = jobAfter(goldenJob(), ['VMS_CREATED', 4_000], ['REPLICA_STARTED', 5_000]) as JobIn<'RUNNING'>;
    await jobs.create({ ...running, instances: [{ ...INSTANCE, vmName }], stopRequestedAt: 6_000 }, []);
    const heartbeat = golden('heartbeat-trial.json') as Heartbeat;
    const place = { zone: 'us-central1-a', serviceAccount: null };
    const sender = { vmName, instanceId: INSTANCE.instanceId, ...place, at: 7_000 };
    const ports = {
      jobs,
      replicas,
      tunings,
      curves,
      bus: { publish: async () => 'id' },
      updates: noUpdates,
      timeouts: TIMEOUTS,
      deploymentKey: openSqliteDeploymentKey(database),
      logger: noLog,
    };
    expect(await recordHeartbeat(ports, heartbeat, sender)).toEqual(golden('heartbeat-answer-early-stop.json'));
  });

  it('holds the service variables and the exit reasons', () => {
    expect(SERVICE_VARIABLES).toEqual(golden('service-variables.json'));
    expect(EXIT_REASONS).toEqual(golden('exit-reasons.json'));
  });

  it('holds the Xids that are faults of the hardware', () => {
    const lineOf = (xid: number) => `NVRM: Xid (PCI:0000:00:04.0): ${xid}, pid=1, name=python3, text`;
    const xids = Array.from({ length: 200 }, (_, xid) => xid).filter((xid) => findRoot([lineOf(xid)]) !== undefined);
    expect(xids).toEqual(golden('hardware-xids.json'));
  });
});
