import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Endpoints, readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { type RegistryUnderTest, startRegistryUnderTest } from '../support/containers/registry-under-test.ts';
import { buildTestImage } from '../support/containers/test-image.ts';
import {
  type CloudUnderTest,
  createUser,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';
import { findProgram } from '../support/find-program.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const EXAMPLE = fileURLToPath(new URL('../../examples/digits', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/containers.md', import.meta.url));

/** Counts to 40, and continues from its checkpoint; the shell has no fractions of seconds but in `sleep`. */
const COUNTER = `
checkpoint="$DROPFORGE_OUTPUT_DIR/checkpoint"
step=0
[ -e "$checkpoint" ] && read -r step < "$checkpoint"
echo "starting at $step"
while [ "$step" -lt 40 ]; do
  step=$((step + 1))
  sleep 0.1
  echo "$step" > "$checkpoint.new"
  mv "$checkpoint.new" "$checkpoint"
  echo "{\\"step\\": $step, \\"steps\\": 40, \\"loss\\": 0.5}" >> "$DROPFORGE_METRICS_FILE"
done
`;

const IGNORES_SIGTERM = 'trap "" TERM; (setsid sleep 600 &); echo on; while true; do sleep 0.1; done';

const engine = await startEngineUnderTest();

if (engine === null) {
  it('is not tested, as this machine has no container engine', () => {});
} else {
  describe('a container in the embedded cloud', () => suite(engine));
}

function suite(engine: EngineUnderTest) {
  const environment = { ...process.env, DROPFORGE_ENGINE_ENVIRONMENT: JSON.stringify(engine.environment) };
  let cloud: CloudUnderTest;
  let registry: RegistryUnderTest;
  let shell: string;
  let python: string;

  beforeAll(async () => {
    registry = await startRegistryUnderTest();
    shell = await push('shell', ['USER trainer', 'WORKDIR /app', 'ENTRYPOINT ["sh", "-ec"]']);
    python = await push('python', ['USER 1000']);
    cloud = await startCloudUnderTest(
      {
        timeouts: { syncMs: 300 },
        preemptionNoticeSeconds: 2,
        stopGraceSeconds: 3,
        zones: [{ name: 'us-central1-a', vmsMax: 4 }],
        vmsMax: 4,
      },
      { environment },
    );
  });

  afterAll(async () => {
    await cloud.stop();
    await registry.stop();
    await engine.stop();
  });

  /** A tag: intake finds the digest. */
  async function push(base: 'shell' | 'python', changes: readonly string[]): Promise<string> {
    const pinned = await registry.push(engine, await buildTestImage(engine, base, { changes }), `team/${base}`);
    return pinned.replace(/@.*/, ':latest');
  }

  /** Stands in for the registry's image of Python, with a shell and a pip that installs nothing. */
  async function buildBase(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-base-'));
    try {
      await copyFile(findProgram('busybox') ?? '', join(folder, 'sh'));
      await writeFile(join(folder, 'pip'), '#!/bin/sh\n', { mode: 0o755 });
      await writeFile(
        join(folder, 'Dockerfile'),
        `FROM ${await buildTestImage(engine, 'python')}\nCOPY sh pip /bin/\n`,
      );
      return (await engine.run(['build', '--quiet', folder])).split('\n').at(-1) ?? '';
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  async function submit(user: Pick<CloudUnderTest, 'publish'>, job: object): Promise<void> {
    await user.publish('dropforge-submit', { region: 'us-central1', ...job });
  }

  const startsOf = async (jobId: string) =>
    (await cloud.readLog(jobId)).map(({ text }) => text).filter((text) => text.startsWith('starting at'));
  const listContainers = async (dataDir: string) =>
    (await engine.run(['ps', '--all', '--no-trunc', '--format', '{{.Labels}}']))
      .split('\n')
      .filter((line) => line.includes(dataDir));

  it('runs to its end, with its image pinned, its outputs saved and its metrics reported', async () => {
    await submit(cloud, { name: 'counts', image: shell, args: [COUNTER] });
    const job = await cloud.awaitJob('counts');
    expect(job, JSON.stringify(job.cause)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'counts/checkpoint')).toBe('40\n');
    expect(await listContainers(cloud.dataDir)).toEqual([]);
  });

  it('trains in the image of the example Dockerfile of docs/containers.md', async () => {
    expect(await readFile(PAGE, 'utf8')).toContain(await readFile(join(EXAMPLE, 'Dockerfile'), 'utf8'));
    const base = await buildBase();
    const argv = ['build', '--quiet', '--network=host', `--build-arg=BASE=${base}`, EXAMPLE];
    const image = await registry.push(engine, (await engine.run(argv)).split('\n').at(-1) ?? '', 'team/digits');
    await submit(cloud, { name: 'digits', image, args: ['--epochs', '2', '--engine', 'python'] });
    const job = await cloud.awaitJob('digits');
    expect(job, JSON.stringify([job.cause, await cloud.readLog('digits')])).toMatchObject({ state: 'SUCCEEDED' });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'digits/metrics.json')).toContain('"epochs":2');
  });

  it('runs the package and the module of a file of AI Platform', async () => {
    const task =
      "import os, sys\nopen(os.environ['DROPFORGE_OUTPUT_DIR'] + '/seen', 'w').write(' '.join(sys.argv[1:]))\n";
    const trainingInput = {
      scaleTier: 'CUSTOM',
      masterType: 'n1-standard-4',
      region: 'us-central1',
      masterConfig: { imageUri: python },
      pythonModule: 'trainer.task',
      args: ['--epochs', '3'],
    };
    await cloud.upload('module.tar.gz', await packProgram(task, { jobId: 'module_in_image', trainingInput }));
    const job = await cloud.awaitJob('module_in_image');
    expect(job, JSON.stringify(job.cause)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'module_in_image/seen')).toMatch(/^--epochs 3/);
  });

  it('fails with its exit code, and its last lines', async () => {
    await submit(cloud, { name: 'fails', image: shell, args: ['echo the cause >&2; exit 7'] });
    const job = await cloud.awaitJob('fails');
    expect(job).toMatchObject({ state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
    expect(JSON.stringify(job.cause)).toContain('the cause');
  });

  it('continues from its last checkpoint after a preemption, and after a host error', async () => {
    for (const [jobId, action] of [
      ['preempted', 'preempt'],
      ['crashed', 'hostError'],
    ] as const) {
      await submit(cloud, { name: jobId, image: shell, args: [COUNTER] });
      const running = await cloud.awaitJob(jobId, ({ replicas }) => (replicas[0]?.step ?? 0) >= 10);
      await cloud.act(`/vms/${running.replicas[0]?.vmName}:${action}`);
      expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 });
      const [first, second] = await startsOf(jobId);
      expect(first).toBe('starting at 0');
      expect(Number(second?.split(' ').at(-1))).toBeGreaterThanOrEqual(5);
    }
    expect(await listContainers(cloud.dataDir)).toEqual([]);
  });

  it('is ended by a cancel although it ignores SIGTERM and has a daemon', async () => {
    await submit(cloud, { name: 'stubborn', image: shell, args: [IGNORES_SIGTERM] });
    await until('the program', async () => (await cloud.readLog('stubborn')).find(({ text }) => text === 'on'));
    await cloud.cancel('stubborn');
    expect(await cloud.awaitJob('stubborn')).toMatchObject({ state: 'CANCELLED' });
    expect(await listContainers(cloud.dataDir)).toEqual([]);
  });

  it('finds the other replicas of its job, and reads buckets like Google', async () => {
    const task = `
import json, os, socket, time
config = json.loads(os.environ['TF_CONFIG'])
host, port = config['cluster']['chief'][0].rsplit(':', 1)
if config['task']['type'] == 'chief':
    server = socket.create_server((host, int(port)))
    connection, _ = server.accept()
    received = connection.recv(100).decode()
    open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/received', 'w').write(received)
    other = '/gcs/' + os.environ['AIP_MODEL_DIR'].split('/')[2]
    print('sees', sorted(os.listdir(other)))
else:
    while True:
        try:
            socket.create_connection((host, int(port)), 1).sendall(b'from the worker')
            break
        except OSError:
            time.sleep(0.2)
`;
    await submit(cloud, { name: 'cluster', image: python, command: ['python3', '-c', task], workers: 1 });
    const job = await cloud.awaitJob('cluster');
    expect(job, JSON.stringify([job.cause, await cloud.readLog('cluster')])).toMatchObject({ state: 'SUCCEEDED' });
    expect(await cloud.readObject(cloud.endpoints.jobsBucket, 'cluster/received')).toBe('from the worker');
    expect((await cloud.readLog('cluster')).map(({ text }) => text).join('\n')).toContain("'cluster'");
  });

  it('is found again, or removed, after the embedded cloud is killed, and nothing is left after its stop', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-containers-'));
    let process: ChildProcess | undefined;
    const start = async (): Promise<Endpoints> => {
      const started = spawn(globalThis.process.execPath, [CLI, 'up', '--data-dir', dataDir], {
        stdio: 'ignore',
        env: environment,
      });
      process = started;
      return until('the cloud', async () => {
        const endpoints = await readEndpoints(dataDir);
        return endpoints?.pid === started.pid ? endpoints : undefined;
      });
    };
    const kill = async (signal: NodeJS.Signals) => {
      const exited = process && once(process, 'exit');
      process?.kill(signal);
      await exited;
    };
    try {
      const user = createUser(await start());
      await submit(user, { name: 'survives', image: shell, args: [IGNORES_SIGTERM] });
      await until('the program', async () => (await user.readLog('survives')).find(({ text }) => text === 'on'));
      await kill('SIGKILL');
      expect(await listContainers(dataDir)).toHaveLength(1);
      const again = createUser(await start());
      expect(await again.awaitJob('survives', ({ state }) => state === 'RUNNING')).toMatchObject({ attempt: 1 });
      await again.cancel('survives');
      await again.awaitJob('survives');
      expect(await listContainers(dataDir)).toEqual([]);
      expect(await findMarkedProcesses(dataDir)).toEqual([]);
    } finally {
      await kill('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    }
  });
}
