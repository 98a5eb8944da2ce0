import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { findFreePort, HOST } from '#infra/embedded/http/server.ts';
import { EXAMPLE_SETTINGS } from './example-settings.ts';

/** The discard port, on which nothing listens. */
const UNREACHABLE = `${HOST}:9`;
const PROXIES = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

const ANSWER_MS_MAX = 60_000;
const POLL_MS = 25;

/** The file that starts the functions-framework, as on Cloud Run. The package does not export its path. */
const FRAMEWORK = createRequire(import.meta.url)
  .resolve('@google-cloud/functions-framework')
  .replace(/index\.js$/, 'main.js');

export type BundleProcess = {
  readonly child: ChildProcess;
  readonly url: string;
  /** Standard output and standard error, once the process has exited. */
  readonly output: Promise<string>;
  /** The output that it has written so far. */
  written(): string;
  stop(): Promise<void>;
};

/**
 * The environment of a deployed function, with one server as the endpoint of every Google service, and a proxy that is
 * unreachable.
 */
export function settingsAt(host = UNREACHABLE): Readonly<Record<string, string>> {
  const url = `http://${host}`;
  return {
    ...EXAMPLE_SETTINGS,
    LOG_EXECUTION_ID: 'true',
    ...Object.fromEntries(PROXIES.map((name) => [name, `http://${UNREACHABLE}`])),
    FIRESTORE_EMULATOR_HOST: host,
    PUBSUB_EMULATOR_HOST: host,
    STORAGE_EMULATOR_HOST: url,
    COMPUTE_ENDPOINT: url,
    LOGGING_ENDPOINT: url,
    SECRET_MANAGER_ENDPOINT: url,
    IDENTITY_CERTS_URL: `${url}/certs`,
  };
}

/** Starts a bundle as Cloud Run does: the functions-framework loads the folder, in a separate process. */
export async function startBundle(
  folder: string,
  target: string,
  environment: Readonly<Record<string, string>>,
): Promise<BundleProcess> {
  const port = await findFreePort(0);
  const args = [FRAMEWORK, `--target=${target}`, `--source=${folder}`, `--port=${port}`];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      written += chunk;
    });
  }
  const output = once(child, 'close').then(() => written);
  return {
    child,
    url: `http://${HOST}:${port}/projects/p/topics/t`,
    output,
    written: () => written,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Sends a request until the process listens, and returns the response. Throws with the output if the process exits. */
export async function firstResponse({ child, url, output }: BundleProcess, body: string): Promise<Response> {
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  for (const startedAt = performance.now(); performance.now() - startedAt < ANSWER_MS_MAX; ) {
    const response = await fetch(url, init).catch(() => undefined);
    if (response !== undefined) {
      return response;
    }
    if (child.exitCode !== null) {
      throw new Error(await output);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${url} does not respond.`);
}

/** A message as Pub/Sub pushes it. */
export function pushBody(data: string): string {
  // Long ago: a message that is too early would be redelivered.
  const publishTime = '2026-01-01T00:00:00Z';
  const message = { data: Buffer.from(data).toString('base64'), messageId: '7', attributes: {}, publishTime };
  return JSON.stringify({ subscription: 'projects/p/subscriptions/s', message });
}

/** The peak memory of the process so far; Linux only. */
export async function peakMemoryBytes({ child }: BundleProcess): Promise<number> {
  const status = await readFile(join('/proc', String(child.pid), 'status'), 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
