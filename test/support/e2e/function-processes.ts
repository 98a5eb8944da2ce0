import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FUNCTION_NAMES, type FunctionName } from '#functions/functions.ts';

const FRAMEWORK = fileURLToPath(
  new URL('../../../node_modules/@google-cloud/functions-framework/build/src/main.js', import.meta.url),
);
const BUNDLES = fileURLToPath(new URL('../../../dist/functions/', import.meta.url));

const START_MS_MAX = 60_000;
const POLL_MS = 50;

export type FunctionProcesses = { urlOf(name: FunctionName): string; stop(): Promise<void> };

/** Returns `count` free ports. */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/**
 * Starts every function from its built bundle, each in its own process under the real functions-framework, as on Cloud
 * Run.
 */
export async function startFunctionProcesses(
  ports: ReadonlyMap<FunctionName, number>,
  environment: Readonly<Record<string, string>>,
  writeLog: (text: string) => void,
): Promise<FunctionProcesses> {
  const children = FUNCTION_NAMES.map((name) => {
    const args = [FRAMEWORK, `--target=${name}`, `--source=${BUNDLES}${name}`, `--port=${ports.get(name)}`];
    const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...environment } });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => writeLog(`${name}: ${chunk}`));
    }
    return { name, child };
  });
  const urlOf = (name: FunctionName) => `http://127.0.0.1:${ports.get(name)}`;
  await Promise.all(children.map(({ name, child }) => untilListening(name, child, ports.get(name) ?? 0)));
  return {
    urlOf,
    async stop() {
      await Promise.all(children.map(({ child }) => end(child)));
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}

async function untilListening(name: string, child: ChildProcess, port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS_MAX && child.exitCode === null; waitedMs += POLL_MS) {
    if (await isListening(port)) {
      return;
    }
    await delay(POLL_MS);
  }
  throw new Error(`The function ${name} is not listening; its process exited with ${child.exitCode}.`);
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
