import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram } from '../find-program.ts';
import { startGuarded } from './guarded-process.ts';

const START_MS_MAX = 60_000;
const POLL_MS = 50;
const OUTPUT_BYTES_MAX = 67_108_864;

/** What tests with containers use besides an engine: a registry with logins, and a program for small images. */
const TOOLS = ['docker-registry', 'htpasswd', 'busybox'];
const HOW_TO = 'the end of README.md says how to have them';

export type EngineUnderTest = {
  readonly kind: 'docker' | 'podman';
  /** What the embedded cloud's, and an agent's, environment needs in addition to find this engine. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command of the engine and returns its stdout without the last line break. Throws with its stderr. */
  run(args: readonly string[], stdin?: NodeJS.ReadableStream): Promise<string>;
  /** Ends the engine if it is a private one, with all that it has stored. */
  stop(): Promise<void>;
};

/**
 * A container engine: a Docker or Podman that answers, or a private Docker daemon where `dockerd` is installed and this
 * user is root. Returns null without any of them or without the tools of these tests, and prints how to have them.
 */
export async function startEngineUnderTest(): Promise<EngineUnderTest | null> {
  const missing = TOOLS.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    process.stderr.write(`Tests with containers are left out: no ${missing.join(', no ')} is installed (${HOW_TO}).\n`);
    return null;
  }
  const docker = await startDockerUnderTest();
  const engine = docker ?? (await findPodman());
  if (engine === null) {
    process.stderr.write(`Tests with containers are left out: neither Docker nor Podman answers (${HOW_TO}).\n`);
  }
  return engine;
}

/** Docker and Podman, as far as this machine has them. */
export async function startEnginesUnderTest(): Promise<readonly EngineUnderTest[]> {
  const first = await startEngineUnderTest();
  const found = first === null ? [] : [first, await findPodman()].filter((engine) => engine !== null);
  return found.filter(({ kind }, index) => found.findIndex((other) => other.kind === kind) === index);
}

/**
 * Docker and Podman, as far as this machine can run them with all that they store in a folder each, below `parent`. Without
 * root or these tests' tools, none.
 */
export async function startEnginesIn(parent: string): Promise<readonly EngineUnderTest[]> {
  if (process.getuid?.() !== 0 || TOOLS.some((name) => findProgram(name) === undefined)) {
    return [];
  }
  const docker = findProgram('dockerd') === undefined ? null : await startPrivateDocker(join(parent, 'docker'));
  const podman = findProgram('podman') === undefined ? null : await startPrivatePodman(join(parent, 'podman'));
  return [docker, podman].filter((engine) => engine !== null);
}

async function startPrivatePodman(storage: string): Promise<EngineUnderTest> {
  const settings = join(storage, 'storage.conf');
  await mkdir(storage);
  await writeFile(
    settings,
    `[storage]\ndriver = "overlay"\ngraphroot = "${storage}/root"\nrunroot = "${storage}/run"\n`,
  );
  return engineOf('podman', { DOCKER_HOST: 'unix:///nonexistent/docker.sock', CONTAINERS_STORAGE_CONF: settings });
}

async function startDockerUnderTest(): Promise<EngineUnderTest | null> {
  const docker = engineOf('docker', {});
  if (await answers(docker, 'ServerVersion')) {
    return docker;
  }
  return process.getuid?.() === 0 ? startPrivateDocker() : null;
}

/** An agent takes Docker where both answer, so this environment names a Docker that does not. */
async function findPodman(): Promise<EngineUnderTest | null> {
  const podman = engineOf('podman', { DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
  return (await answers(podman, 'Version.Version')) ? podman : null;
}

function engineOf(kind: EngineUnderTest['kind'], environment: Readonly<Record<string, string>>): EngineUnderTest {
  return {
    kind,
    environment,
    run: (args, stdin) => runEngine([kind, ...args], environment, stdin),
    stop: async () => {},
  };
}

async function answers(engine: EngineUnderTest, field: string): Promise<boolean> {
  const version = await engine.run(['info', '--format', `{{.${field}}}`]).catch(() => '');
  return version !== '';
}

function runEngine(
  [command = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin?: NodeJS.ReadableStream,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...environment }, maxBuffer: OUTPUT_BYTES_MAX };
    const child = execFile(command, args, options, (error, stdout, stderr) =>
      error === null
        ? resolve(stdout.trimEnd())
        : reject(new Error(`${command} ${args[0]}: ${stderr || error.message}`)),
    );
    if (stdin === undefined || child.stdin === null) {
      child.stdin?.end();
    } else {
      // A command that fails does not read the rest; its error is what counts.
      child.stdin.on('error', () => {});
      stdin.pipe(child.stdin);
    }
  });
}

async function startPrivateDocker(storage?: string): Promise<EngineUnderTest | null> {
  const daemon = await startGuarded('dockerd', (folder) => [
    ...['dockerd', '--host', `unix://${folder}/docker.sock`, '--data-root', storage ?? join(folder, 'data')],
    ...['--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    // Host networking is all that tests use; bridges would change the firewall of this machine.
    ...['--bridge=none', '--iptables=false', '--ip6tables=false'],
  ]);
  const engine = engineOf('docker', { DOCKER_HOST: `unix://${daemon.folder}/docker.sock` });
  const giveUpAt = Date.now() + START_MS_MAX;
  while (!daemon.hasEnded() && Date.now() < giveUpAt) {
    if (await answers(engine, 'ServerVersion')) {
      return { ...engine, stop: daemon.stop };
    }
    await delay(POLL_MS);
  }
  await daemon.stop();
  return null;
}
