import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli/test-cloud.ts';
import { typeIntoTerminal } from '../support/cli/type-into-terminal.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { type RegistryUnderTest, startRegistryUnderTest } from '../support/containers/registry-under-test.ts';
import { buildTestImage } from '../support/containers/test-image.ts';
import { type CloudUnderTest, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

const TOKEN = 'planted-t0ken-4c1d';
const RUNS = 'echo from the program > /dev/shm/trace; echo on; sleep 300';
const FAILS = 'echo half a model > "$DROPFORGE_OUTPUT_DIR/model"; exit 7';
const SHOWS = 'echo "$GREETING/$API_TOKEN/$CLOUD_ML_JOB_ID/$(id -u)"; pwd';
const TYPES = typeIntoTerminal(['test -t 0 && echo in $CLOUD_ML_JOB_ID with $TERM', 'no-such-command', 'exit']);

const engine = await startEngineUnderTest();

if (engine === null) {
  it('is not tested, as this machine has no container engine', () => {});
} else {
  describe('dropforge exec into a container', () => suite(engine));
}

function suite(engine: EngineUnderTest) {
  let cloud: CloudUnderTest;
  let registry: RegistryUnderTest;

  beforeAll(async () => {
    registry = await startRegistryUnderTest();
    const environment = { ...process.env, DROPFORGE_ENGINE_ENVIRONMENT: JSON.stringify(engine.environment) };
    cloud = await startCloudUnderTest(
      { timeouts: { syncMs: 300, heartbeatMs: 300 }, stopGraceSeconds: 1, vmsMax: 3 },
      { environment },
    );
    const openStdin = () => Readable.from([Buffer.from(TOKEN)]);
    await runCli(['secrets', 'create', 'token', '--data-file=-'], { dataDir: cloud.dataDir, openStdin });
    const image = await push('shell', ['USER trainer', 'WORKDIR /app', 'ENTRYPOINT ["sh", "-ec"]']);
    const program = { image, env: { GREETING: 'from the job file' }, secrets: { API_TOKEN: 'token' } };
    await submit({ ...program, name: 'runs', args: [RUNS] });
    await submit({ ...program, name: 'kept', args: [FAILS], keepOnFailure: '10m' });
    await submit({ name: 'bare', image: await push('no-shell', ['CMD ["tail", "-f", "/etc/passwd"]']) });
    await awaitOutput('runs', 'on');
    await cloud.awaitJob('kept');
    const bare = await cloud.awaitJob(
      'bare',
      ({ state, replicas }) => state === 'FAILED' || replicas[0]?.phase === 'RUNNING',
    );
    expect(bare.cause).toBeNull();
  });
  afterAll(async () => {
    await cloud.stop();
    await registry.stop();
    await engine.stop();
  });

  async function push(base: 'shell' | 'no-shell', changes: readonly string[]): Promise<string> {
    return registry.push(engine, await buildTestImage(engine, base, { changes }), `team/${base}`);
  }

  const submit = (job: object) => cloud.publish('dropforge-submit', { region: 'us-central1', ...job });

  const awaitOutput = (jobId: string, line: string) =>
    until('the program', async () => (await cloud.readLog(jobId)).find((entry) => entry.text === line));

  function start(args: readonly string[], prefix: readonly string[] = []) {
    const [name = '', jobId = '', ...command] = args;
    const cli = [process.execPath, CLI, name, jobId, `--data-dir=${cloud.dataDir}`];
    const [file = '', ...rest] = [...prefix, ...cli, ...(command.length > 0 ? ['--', ...command] : [])];
    return spawn(file, rest, { env: { ...process.env, TERM: 'vt220' } });
  }

  async function exec(args: readonly string[], stdin = '') {
    const child = start(['exec', ...args]);
    child.stdin.end(stdin);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: child.exitCode, stdout, stderr };
  }

  it('runs in the running container, with the variables and secrets of the program, its user and its folder', async () => {
    const { code, stdout, stderr } = await exec(['runs', 'sh', '-c', `${SHOWS}; cat /dev/shm/trace; exit 3`]);
    expect([code, stderr]).toEqual([3, '']);
    expect(stdout.split('\n')).toEqual([
      `from the job file/${TOKEN}/runs/1000`,
      expect.stringMatching(/^\//),
      'from the program',
      '',
    ]);
  });

  it('runs in a new container with the same variables, user and mounts if the program has failed', async () => {
    const script = `${SHOWS}; cat "$DROPFORGE_OUTPUT_DIR/model" -; exit 4`;
    const { code, stdout, stderr } = await exec(['kept', 'sh', '-c', script], 'from the caller\n');
    expect([code, stderr]).toEqual([4, '']);
    expect(stdout).toMatch(new RegExp(`^from the job file/${TOKEN}/kept/1000\n/.*\nhalf a model\nfrom the caller\n$`));
    expect(await listContainers('kept')).toEqual([]);
  });

  it('opens a shell on the terminal of the caller in both', async () => {
    for (const jobId of ['runs', 'kept']) {
      const child = start(['ssh', jobId], ['python3', '-c', TYPES]);
      const [shown] = await Promise.all([text(child.stdout), once(child, 'close')]);
      expect(shown).toContain(`\r\nin ${jobId} with vt220\r\n`);
      // The code of the last command, which is not taken for a shell that is missing.
      expect(child.exitCode).toBe(127);
      expect(shown).not.toContain('The image has no shell');
    }
  });

  it('puts no secret into a list of processes', async () => {
    for (const jobId of ['runs', 'kept']) {
      const child = start(['exec', jobId, 'sh', '-c', 'echo ready; cat']);
      await once(child.stdout, 'data');
      const lines = await listCommandLines();
      expect(lines.filter((line) => line.includes('echo ready')).length).toBeGreaterThan(1);
      expect(lines.filter((line) => line.includes(TOKEN))).toEqual([]);
      child.stdin.end();
      await once(child, 'close');
    }
  });

  it('says that an image has no shell, and runs its programs', async () => {
    const shell = await exec(['bare']);
    expect(shell.code === 126 || shell.code === 127, JSON.stringify(shell)).toBe(true);
    expect(shell.stderr).toContain('The image has no shell. Name a program of the image');
    expect(await exec(['bare', 'echo', 'hello'])).toMatchObject({ code: 0, stdout: 'hello\n' });
    const unknown = await exec(['bare', 'no-such-program']);
    expect(unknown.code === 126 || unknown.code === 127).toBe(true);
    // Docker prints its error on stdout.
    expect(`${unknown.stdout}${unknown.stderr}`).toContain('no-such-program');
    expect(unknown.stderr).not.toContain('has no shell');
  });

  it('ends with the container, and with the VM that is kept', async () => {
    for (const [jobId, end] of [
      ['runs', () => cloud.cancel('runs')],
      ['kept', () => runCli(['jobs', 'release', 'kept'], { dataDir: cloud.dataDir })],
    ] as const) {
      const child = start(['exec', jobId, 'sh', '-c', 'trap "" TERM HUP; echo ready; while true; do sleep 0.1; done']);
      await once(child.stdout, 'data');
      await end();
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(137);
      await cloud.awaitJob(jobId, ({ endTime }) => endTime !== null);
      expect(await listContainers(jobId)).toEqual([]);
      expect((await listCommandLines()).filter((line) => line.includes('trap "" TERM HUP'))).toEqual([]);
    }
  });

  async function listContainers(jobId: string): Promise<readonly string[]> {
    const ids = await engine.run(['ps', '--all', '--quiet']);
    const described = await Promise.all(
      ids
        .split('\n')
        .filter(Boolean)
        .map((id) => engine.run(['inspect', id])),
    );
    return described.filter((text) => text.includes(cloud.dataDir) && text.includes(`CLOUD_ML_JOB_ID=${jobId}"`));
  }
}

async function listCommandLines(): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
}
