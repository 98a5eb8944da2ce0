import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { arch, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineUnderTest, startEnginesUnderTest } from '../support/containers/engine-under-test.ts';
import { buildTestImage } from '../support/containers/test-image.ts';
import { until } from '../support/e2e/cloud-under-test.ts';
import { findProgram } from '../support/find-program.ts';

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const BUILD_MS_MAX = 180_000;
const PASSWORD = 'swordfish-7f3a';
const run = promisify(execFile);

/** A wheel of one module, which says where it is from. */
const WRITES_WHEEL = `
import sys, zipfile
info = 'private_probe-1.0.dist-info/'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('private_probe.py', 'ORIGIN = "the private index"')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: private-probe\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;
const FINDS_PIP = 'import os, pip; print(os.path.dirname(pip.__file__))';
const WHEEL = 'private_probe-1.0-py3-none-any.whl';

const engines = arch() === 'x64' ? await startEnginesUnderTest() : [];
const folder = await mkdtemp(join(tmpdir(), 'dropforge-builds-'));
const pip = await run('python3', ['-c', FINDS_PIP]).then(
  ({ stdout }) => stdout.trim(),
  () => undefined,
);
const clients = await findClientsWithSecrets();
if (engines.length > 0 && pip === undefined) {
  process.stderr.write('A build with a private index is left out: python3 has no pip.\n');
}

/** A folder for PATH whose `docker` has BuildKit, which knows secrets; undefined if no client has it. */
async function findClientsWithSecrets(): Promise<string | undefined> {
  for (const path of (process.env['PATH'] ?? '').split(delimiter)) {
    const docker = join(path, 'docker');
    const help = await run('env', ['DOCKER_BUILDKIT=1', docker, 'build', '--help']).catch(() => ({ stdout: '' }));
    if (help.stdout.includes('--secret')) {
      await mkdir(join(folder, 'bin'));
      await symlink(docker, join(folder, 'bin', 'docker'));
      return join(folder, 'bin');
    }
  }
  return undefined;
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
}

/** An index of one package, for one user. */
async function startIndex(): Promise<Server> {
  const authorization = `Basic ${Buffer.from(`ci:${PASSWORD}`).toString('base64')}`;
  await run('python3', ['-c', WRITES_WHEEL, join(folder, WHEEL)]);
  const wheel = await readFile(join(folder, WHEEL));
  const server = createServer((request, response) => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="index"' }).end();
    } else if (request.url === '/simple/private-probe/') {
      response.setHeader('content-type', 'text/html').end(`<a href="/${WHEEL}">${WHEEL}</a>`);
    } else {
      response.writeHead(request.url === `/${WHEEL}` ? 200 : 404).end(wheel);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

afterAll(async () => {
  for (const engine of engines) {
    await engine.stop();
  }
  await rm(folder, { recursive: true, force: true });
});

if (engines.length === 0) {
  it('is not tested, as this machine has no container engine', () => {});
}

describe.each(engines)('an image that $kind builds', (engine) => {
  const { kind } = engine;
  const base = `localhost/dropforge-test/pip-${kind}:1`;
  let environment: Readonly<Record<string, string>>;
  let index: Server;
  const engineRun = (args: readonly string[]) => run(kind, [...args], { env: environment, maxBuffer: 2 ** 28 });

  beforeAll(async () => {
    environment = await environmentOf(engine);
    index = await startIndex();
    await buildBase();
  }, BUILD_MS_MAX);
  afterAll(() => index.close());

  /** Podman's own runtime, crun, does not start where control groups are of both versions. */
  async function environmentOf({ environment: own }: EngineUnderTest) {
    await write('containers.conf', findProgram('runc') === undefined ? '' : '[engine]\nruntime = "runc"\n');
    const PATH = [clients, process.env['PATH']].filter((path) => path !== undefined).join(delimiter);
    const isPodman = kind === 'podman';
    return {
      ...(process.env as Readonly<Record<string, string>>),
      ...{ ...own, PATH, NO_COLOR: '1' },
      ...(isPodman ? { CONTAINERS_CONF: process.env['CONTAINERS_CONF'] ?? join(folder, 'containers.conf') } : {}),
    };
  }

  /** Python with pip, and a shell for RUN. */
  async function buildBase(): Promise<void> {
    const image = await buildTestImage(engine, 'python');
    const context = join(folder, `base-${kind}`);
    await mkdir(join(context, 'pip'), { recursive: true });
    await run('cp', ['-L', findProgram('busybox') ?? '', join(context, 'busybox')]);
    await run('cp', ['-r', ...(pip === undefined ? ['/dev/null'] : [pip]), join(context, 'pip')]);
    const lines = ['COPY busybox /bin/', 'RUN ["/bin/busybox", "--install", "-s", "/bin"]', 'COPY pip /opt/pip'];
    await writeFile(
      join(context, 'Dockerfile'),
      [`FROM ${image}`, ...lines, 'ENV PYTHONPATH=/opt/pip', 'USER 1000', ''].join('\n'),
    );
    await engineRun(['build', '--network=host', '--tag', base, context]);
  }

  function start(args: readonly string[]) {
    const argv = [MAIN, 'images', 'build', ...args, `--engine=${kind}`, '--', '--network=host'];
    return spawn(process.execPath, argv, { env: environment });
  }

  async function build(args: readonly string[]) {
    const child = start(args);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: child.exitCode, stdout, stderr };
  }

  it.skipIf(pip === undefined || (kind === 'docker' && clients === undefined))(
    'from a private index has its packages, and the password in no layer, history or output',
    async () => {
      const { port } = index.address() as AddressInfo;
      const tag = `localhost/dropforge-test/private-${kind}:1`;
      await write('pip.conf', `[global]\nindex-url = http://ci:${PASSWORD}@127.0.0.1:${port}/simple\n`);
      await write('program/task.py', 'import private_probe; print(private_probe.ORIGIN)\n');
      await write('program/requirements.txt', 'private-probe\n');
      const flags = [`--base-image=${base}`, `--tag=${tag}`, `--pip-conf=${join(folder, 'pip.conf')}`];
      const built = await build([join(folder, 'program'), ...flags]);
      expect([built.code, built.stdout], built.stderr).toEqual([0, expect.stringContaining(`Built ${tag}`)]);
      expect(built.stderr).not.toContain(PASSWORD);
      // Podman raises limits by default, which this user may not be allowed to.
      const limits = kind === 'podman' ? ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024'] : [];
      const { stdout } = await engineRun(['run', '--rm', '--network=host', ...limits, tag]);
      expect(stdout).toBe('the private index\n');
      expect((await engineRun(['history', '--no-trunc', tag])).stdout).not.toContain(PASSWORD);
      await engineRun(['save', '--output', join(folder, `${kind}.tar`), tag]);
      const saved = await readFile(join(folder, `${kind}.tar`));
      expect([saved.includes('private_probe'), saved.includes(PASSWORD)]).toEqual([true, false]);
    },
    BUILD_MS_MAX,
  );

  /** Those that are made of the base image: others may use the same engine. */
  async function listContainers(): Promise<readonly string[]> {
    const inspected = await engineRun(['image', 'inspect', '--format', '{{.Id}}', base]);
    const names = [base, inspected.stdout.trim().replace('sha256:', '')];
    const external = kind === 'podman' ? ['--external'] : [];
    const { stdout } = await engineRun(['ps', '--all', '--no-trunc', ...external, '--format', '{{.Image}} {{.ID}}']);
    return stdout.split('\n').filter((line) => names.some((name) => line.includes(name)));
  }

  it(
    'with an error prints it once, and leaves no container',
    async () => {
      await write('broken/Dockerfile', `FROM ${base}\nRUN echo the reason && false\n`);
      const { code, stderr } = await build([join(folder, 'broken'), '--tag=dropforge-test/broken:1']);
      expect([code, stderr.match(/^\W*(?:#\d+ [\d.]+ )?the reason$/gm)]).toEqual([1, [expect.anything()]]);
      expect(await listContainers()).toEqual([]);
    },
    BUILD_MS_MAX,
  );

  it(
    'that is interrupted leaves neither process nor container',
    async () => {
      await write('slow/Dockerfile', `FROM ${base}\nRUN echo started && sleep 617253\n`);
      const child = start([join(folder, 'slow'), '--tag=dropforge-test/slow:1']);
      let stderr = '';
      let running: readonly string[] = [];
      for await (const chunk of child.stderr) {
        const wasStarted = stderr.includes('\nstarted\n');
        stderr += String(chunk);
        if (!wasStarted && stderr.includes('\nstarted\n')) {
          running = await listContainers();
          child.kill('SIGINT');
        }
      }
      expect([stderr, running]).toEqual([expect.stringContaining('Interrupted.'), [expect.anything()]]);
      // A Docker daemon deletes them itself, and not before its client has left.
      await until('the end of the build', async () => {
        const lines = (await listCommandLines()).filter((line) => line.includes('617253'));
        return lines.length === 0 && (await listContainers()).length === 0 ? true : undefined;
      });
    },
    BUILD_MS_MAX,
  );
});

async function listCommandLines(): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
}
