import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram } from '../find-program.ts';
import type { EngineUnderTest } from './engine-under-test.ts';
import { startGuarded } from './guarded-process.ts';

const START_MS_MAX = 60_000;
const POLL_MS = 50;

export type RegistryUnderTest = {
  /** `127.0.0.1:PORT`: engines accept http there. */
  readonly host: string;
  /** Moves a local image into the registry, so that the engine has to pull it; returns `HOST/REPOSITORY@sha256:…`. */
  push(engine: EngineUnderTest, image: string, repository: string): Promise<string>;
  stop(): Promise<void>;
};

export type RegistryLogin = { readonly user: string; readonly password: string };

/** Whether Debian's `docker-registry` is installed, and `htpasswd` for its logins. */
export function hasRegistry(): boolean {
  return findProgram('docker-registry') !== undefined && findProgram('htpasswd') !== undefined;
}

/** Starts an image registry with an empty store; with `login`, it rejects other requests (needs `htpasswd`). */
export async function startRegistryUnderTest(login?: RegistryLogin): Promise<RegistryUnderTest> {
  const host = `127.0.0.1:${await findFreePort()}`;
  const server = await startGuarded('registry', async (folder) => {
    const config = {
      version: '0.1',
      log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } },
      http: { addr: host },
      ...(login === undefined ? {} : { auth: await writeHtpasswd(folder, login) }),
    };
    // JSON is YAML.
    await writeFile(join(folder, 'config.yml'), JSON.stringify(config));
    return ['docker-registry', 'serve', join(folder, 'config.yml')];
  });
  const giveUpAt = Date.now() + START_MS_MAX;
  while (!(await fetch(`http://${host}/v2/`).catch(() => undefined))) {
    if (server.hasEnded() || Date.now() > giveUpAt) {
      await server.stop();
      throw new Error(`docker-registry did not start on ${host}.`);
    }
    await delay(POLL_MS);
  }
  return {
    host,
    stop: server.stop,
    push: (engine, image, repository) => push(engine, image, { name: `${host}/${repository}`, login }),
  };
}

async function push(
  engine: EngineUnderTest,
  image: string,
  { name, login }: { readonly name: string; readonly login: RegistryLogin | undefined },
): Promise<string> {
  await engine.run(['tag', image, name]);
  const isolated = await mkdtemp(join(tmpdir(), 'dropforge-login-'));
  try {
    const config = join(isolated, 'config.json');
    const host = name.slice(0, name.indexOf('/'));
    const auth = login && Buffer.from(`${login.user}:${login.password}`).toString('base64');
    await writeFile(config, JSON.stringify({ auths: auth === undefined ? {} : { [host]: { auth } } }));
    await engine.run(['--config', isolated, 'push', '--quiet', name]);
  } finally {
    await rm(isolated, { recursive: true, force: true });
  }
  const pinned = await digestOf(name, login);
  await engine.run(['image', 'rm', '--force', image, name]);
  return pinned;
}

async function digestOf(name: string, login: RegistryLogin | undefined): Promise<string> {
  const [, host, path] = /^([^/]+)\/(.+?)(?::[^/]*)?$/.exec(name) ?? [];
  const tag = /:([^/:]*)$/.exec(name.slice(host?.length))?.[1] ?? 'latest';
  const accept = [
    'application/vnd.docker.distribution.manifest.v2+json',
    'application/vnd.oci.image.manifest.v1+json',
    'application/vnd.oci.image.index.v1+json',
  ].join(', ');
  const basic = login && `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
  const headers = { accept, ...(basic === undefined ? {} : { authorization: basic }) };
  const answer = await fetch(`http://${host}/v2/${path}/manifests/${tag}`, { method: 'HEAD', headers });
  const digest = answer.headers.get('docker-content-digest');
  if (digest === null) {
    throw new Error(`The registry has no manifest of ${name}: ${answer.status}.`);
  }
  return `${host}/${path}@${digest}`;
}

async function writeHtpasswd(folder: string, { user, password }: RegistryLogin): Promise<object> {
  const path = join(folder, 'htpasswd');
  const { stdout } = await promisify(execFile)('htpasswd', ['-Bbn', user, password]);
  await writeFile(path, stdout);
  return { htpasswd: { realm: 'test', path } };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
