import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findFreePort, HOST } from '#infra/embedded/http/server.ts';
import { EXAMPLE_SETTINGS } from './example-settings.ts';

/** Nothing listens at the discard port. */
const NOWHERE = `${HOST}:9`;

const ANSWER_MS_MAX = 30_000;
const POLL_MS = 3;

/** Its package hands out no path to it; Cloud Run starts it by this file. */
const FRAMEWORK = createRequire(import.meta.url)
  .resolve('@google-cloud/functions-framework')
  .replace(/index\.js$/, 'main.js');

export type BundleProcess = {
  readonly child: ChildProcess;
  readonly url: string;
  /** Both outputs, once it has ended. */
  readonly output: Promise<string>;
  stop(): Promise<void>;
};

/** The environment of a deployed function whose every Google service is at one place. */
export function settingsAt(host = NOWHERE): Readonly<Record<string, string>> {
  const url = `http://${host}`;
  return {
    ...EXAMPLE_SETTINGS,
    FIRESTORE_EMULATOR_HOST: host,
    PUBSUB_EMULATOR_HOST: host,
    STORAGE_EMULATOR_HOST: url,
    COMPUTE_ENDPOINT: url,
    LOGGING_ENDPOINT: url,
    SECRET_MANAGER_ENDPOINT: url,
    IDENTITY_CERTS_URL: `${url}/certs`,
  };
}

/** Starts a bundle as Cloud Run does: the functions-framework in a process of its own, which loads the folder. */
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
  const output = Promise.all([text(child.stdout), text(child.stderr)]).then((texts) => texts.join(''));
  return {
    child,
    url: `http://${HOST}:${port}/projects/p/topics/t`,
    output,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The first answer, asked for until somebody listens. Throws with the output of a process that has ended. */
export async function firstAnswer(
  { child, url, output }: BundleProcess,
  body: string,
  contentType = 'application/json',
): Promise<Response> {
  const init = { method: 'POST', body, headers: { 'content-type': contentType } };
  for (const startedAt = performance.now(); performance.now() - startedAt < ANSWER_MS_MAX; ) {
    const answer = await fetch(url, init).catch(() => undefined);
    if (answer !== undefined) {
      return answer;
    }
    if (child.exitCode !== null) {
      throw new Error(await output);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${url} does not answer.`);
}

/** A message as Pub/Sub pushes it. */
export function pushBody(data: string): string {
  // Long ago: what came before its time would be wanted again.
  const publishTime = '2026-01-01T00:00:00Z';
  const message = { data: Buffer.from(data).toString('base64'), messageId: '7', attributes: {}, publishTime };
  return JSON.stringify({ subscription: 'projects/p/subscriptions/s', message });
}

/** The most memory that the process has had so far; Linux alone tells. */
export async function peakMemoryBytes({ child }: BundleProcess): Promise<number> {
  const status = await readFile(join('/proc', String(child.pid), 'status'), 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
