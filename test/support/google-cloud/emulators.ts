import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '#infra/embedded/http/server.ts';

const START_MS_MAX = 120_000;
const POLL_MS = 100;

/** `host:port` of Google's official emulators, as the client libraries read them from the environment. */
export type EmulatorHosts = { readonly firestore: string; readonly pubsub: string };

export type Emulators = { readonly hosts: EmulatorHosts; stop(): Promise<void> };

/** Paths of the emulators' jars in the gcloud SDK. */
type Jars = { readonly firestore: string; readonly pubsub: string };

/** Uses the emulators that the environment names, or starts those of the gcloud SDK; null if there are none, or no Java. */
export async function startEmulators(environment: NodeJS.ProcessEnv): Promise<Emulators | null> {
  const { FIRESTORE_EMULATOR_HOST: firestore, PUBSUB_EMULATOR_HOST: pubsub } = environment;
  if (firestore && pubsub) {
    return { hosts: { firestore, pubsub }, stop: async () => {} };
  }
  const jars = findJars(environment);
  return jars !== null && hasJava() ? startJars(jars) : null;
}

async function startJars(jars: Jars): Promise<Emulators> {
  const [firestorePort, pubsubPort] = [await findFreePort(0), await findFreePort(0)];
  // According to the emulator's start script, its messages are only complete in English.
  const firestore = startJava([
    '-Duser.language=en',
    '-cp',
    jars.firestore,
    'com.google.cloud.datastore.emulator.firestore.CloudFirestore',
    'start',
    '--host=127.0.0.1',
    `--port=${firestorePort}`,
  ]);
  const pubsub = startJava(['-jar', jars.pubsub, '--host=127.0.0.1', `--port=${pubsubPort}`]);
  await Promise.all([untilListening(firestorePort, firestore), untilListening(pubsubPort, pubsub)]);
  return {
    hosts: { firestore: `127.0.0.1:${firestorePort}`, pubsub: `127.0.0.1:${pubsubPort}` },
    stop: async () => {
      await Promise.all([end(firestore), end(pubsub)]);
    },
  };
}

function startJava(args: readonly string[]): ChildProcess {
  return spawn('java', ['-Xmx512m', ...args], { stdio: 'ignore' });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

function findJars({ PATH = '' }: NodeJS.ProcessEnv): Jars | null {
  const gcloud = PATH.split(delimiter)
    .map((folder) => join(folder, 'gcloud'))
    .find((path) => existsSync(path));
  if (gcloud === undefined) {
    return null;
  }
  const platform = join(dirname(realpathSync(gcloud)), '..', 'platform');
  const firestore = join(platform, 'cloud-firestore-emulator', 'cloud-firestore-emulator.jar');
  const pubsubFolder = join(platform, 'pubsub-emulator', 'lib');
  const pubsub = existsSync(pubsubFolder) && readdirSync(pubsubFolder).find((name) => name.endsWith('-all.jar'));
  return existsSync(firestore) && pubsub ? { firestore, pubsub: join(pubsubFolder, pubsub) } : null;
}

function hasJava(): boolean {
  try {
    execFileSync('java', ['-version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += POLL_MS) {
    if (child.exitCode !== null) {
      throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode} before it listened.`);
    }
    if (await isListening(port)) {
      return;
    }
    await delay(POLL_MS);
  }
  throw new Error(`${child.spawnargs.join(' ')} does not listen on ${port} after ${START_MS_MAX} ms.`);
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
