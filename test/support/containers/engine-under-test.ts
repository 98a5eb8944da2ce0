import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram } from '../find-program.ts';
import { startGuarded } from './guarded-process.ts';

const START_MS_MAX = 60_000;
const POLL_MS = 50;
const OUTPUT_BYTES_MAX = 67_108_864;

/**
 * The tools that tests with containers use besides an engine: a registry with logins, and a program for small images.
 */
const TOOLS = ['docker-registry', 'htpasswd', 'busybox'];
const HOW_TO = 'CONTRIBUTING.md (Commands) says how to have them';

export type EngineUnderTest = {
  /** The variables with which the embedded cloud and an agent find this engine. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs `docker` with these arguments and returns its stdout without the last line break. Throws with its stderr. */
  run(args: readonly string[], stdin?: NodeJS.ReadableStream): Promise<string>;
  /** Ends the engine if it is a private one, with all that it has stored. */
  stop(): Promise<void>;
};

/**
 * A Docker that answers, or a private daemon where `dockerd` is installed and this user is root. Returns null without
 * either or without the tools of these tests, and prints how to have them.
 */
export async function startEngineUnderTest(): Promise<EngineUnderTest | null> {
  const missing = TOOLS.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    process.stderr.write(`Tests with containers are left out: no ${missing.join(', no ')} is installed (${HOW_TO}).\n`);
    return null;
  }
  const found = engineOf({});
  const engine = (await answers(found)) ? found : await startEngineIn();
  if (engine === null) {
    process.stderr.write(`Tests with containers are left out: Docker does not answer (${HOW_TO}).\n`);
  }
  return engine;
}

/** A private daemon with all that it stores in this folder, or in one of its own. Returns null if it does not start. */
export async function startEngineIn(storage?: string): Promise<EngineUnderTest | null> {
  const isThere = ['dockerd', ...TOOLS].every((name) => findProgram(name) !== undefined);
  if (process.getuid?.() !== 0 || !isThere) {
    return null;
  }
  const daemon = await startGuarded('dockerd', (folder) => [
    ...['dockerd', '--host', `unix://${folder}/docker.sock`, '--data-root', storage ?? join(folder, 'data')],
    ...['--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    // Host networking is all that tests use; bridges would change the firewall of this machine.
    ...['--bridge=none', '--iptables=false', '--ip6tables=false'],
  ]);
  const engine = engineOf({ DOCKER_HOST: `unix://${daemon.folder}/docker.sock` });
  const giveUpAt = Date.now() + START_MS_MAX;
  while (!daemon.hasEnded() && Date.now() < giveUpAt) {
    if (await answers(engine)) {
      return { ...engine, stop: daemon.stop };
    }
    await delay(POLL_MS);
  }
  await daemon.stop();
  return null;
}

function engineOf(environment: Readonly<Record<string, string>>): EngineUnderTest {
  return { environment, run: (args, stdin) => runDocker(args, environment, stdin), stop: async () => {} };
}

async function answers(engine: EngineUnderTest): Promise<boolean> {
  return (await engine.run(['version', '--format', '{{.Server.Version}}']).catch(() => '')) !== '';
}

function runDocker(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin?: NodeJS.ReadableStream,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...environment }, maxBuffer: OUTPUT_BYTES_MAX };
    const child = execFile('docker', args, options, (error, stdout, stderr) =>
      error === null ? resolve(stdout.trimEnd()) : reject(new Error(`docker ${args[0]}: ${stderr || error.message}`)),
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
