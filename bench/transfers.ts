import { type ChildProcess, execFile, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import type { BenchRow } from './bench-row.ts';

export const BUCKET = 'bench-transfers';
const MB = 1_000_000;
const TIME_RATIO_MAX = 1.25;
const AGENT_MEMORY_BYTES_MAX = 150 * MB;
const BLOCK_BYTES = 16 * 1_024 ** 2;
const FILES_PER_FOLDER = 1_000;

type Tree = { readonly filesCount: number; readonly fileBytes: number };

const FULL: readonly Tree[] = [
  { filesCount: 20_000, fileBytes: 4_096 },
  { filesCount: 200, fileBytes: 10 * MB },
  { filesCount: 1, fileBytes: 4_000 * MB },
];

/** A tenth of the files or bytes. */
const SMALL: readonly Tree[] = [
  { filesCount: 2_000, fileBytes: 4_096 },
  { filesCount: 20, fileBytes: 10 * MB },
  { filesCount: 1, fileBytes: 400 * MB },
];

const reportSchema = z.object({ seconds: z.number(), peakMemoryBytes: z.number() });

/**
 * Saves and restores trees with the agent and with `gcloud storage rsync`, on a server that adds 30 ms to each request.
 * DROPFORGE_BENCH_TRANSFERS=full takes the sizes of the goal, needs 30 GB of disk space, and takes half an hour.
 */
export async function* benchTransfers(environment: NodeJS.ProcessEnv): AsyncGenerator<BenchRow> {
  if (!(await hasGcloud())) {
    process.stderr.write('gcloud is not installed: transfers are not measured.\n');
    return;
  }
  for (const tree of environment.DROPFORGE_BENCH_TRANSFERS === 'full' ? FULL : SMALL) {
    const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
    try {
      yield* await measureTree(directory, tree);
    } finally {
      await rm(directory, { recursive: true });
    }
  }
}

async function hasGcloud(): Promise<boolean> {
  return await promisify(execFile)('gcloud', ['version']).then(
    () => true,
    () => false,
  );
}

async function measureTree(directory: string, tree: Tree): Promise<BenchRow[]> {
  const source = join(directory, 'source');
  await writeTree(source, tree);
  const server = await startServer(join(directory, 'server'));
  try {
    const pairs = [
      await measurePair({ direction: 'save', url: server.url, folder: source, directory }),
      await measurePair({ direction: 'restore', url: server.url, folder: join(directory, 'restored'), directory }),
    ];
    const name = `${tree.filesCount} x ${formatBytes(tree.fileBytes)}`;
    const peakBytes = Math.max(...pairs.map(({ agent }) => agent.peakMemoryBytes));
    return [
      ...pairs.map(({ direction, agent, gcloudSeconds }) =>
        timeRow(`${direction} ${name} (floor: gcloud storage rsync)`, agent.seconds, gcloudSeconds),
      ),
      memoryRow(`save and restore ${name}: peak memory`, peakBytes),
    ];
  } finally {
    await server.stop();
  }
}

type Transfer = {
  readonly direction: 'save' | 'restore';
  readonly url: string;
  readonly folder: string;
  readonly directory: string;
};

async function measurePair({ direction, url, folder, directory }: Transfer) {
  const agent = await transferByAgent(direction, url, folder);
  const [bucket, local] = [`gs://${BUCKET}/gcloud`, direction === 'save' ? folder : `${folder}-by-gcloud`];
  await mkdir(local, { recursive: true });
  const startedAt = performance.now();
  await promisify(execFile)(
    'gcloud',
    ['storage', 'rsync', '-r', ...(direction === 'save' ? [local, bucket] : [bucket, local])],
    { env: gcloudEnvironment(url, directory), maxBuffer: 64 * 1_024 ** 2 },
  );
  const gcloudSeconds = (performance.now() - startedAt) / 1_000;
  // The full sizes take half an hour: what has been measured is not lost if a later part fails.
  process.stderr.write(`${direction}: agent ${agent.seconds.toFixed(1)} s, gcloud ${gcloudSeconds.toFixed(1)} s\n`);
  if (direction === 'restore') {
    await assertSameCount(folder, local);
    await Promise.all([folder, local].map((path) => rm(path, { recursive: true })));
  }
  return { direction, agent, gcloudSeconds };
}

export async function transferByAgent(direction: string, url: string, folder: string) {
  const script = join(import.meta.dirname, 'transfer_agent.py');
  const { stdout } = await promisify(execFile)('python3', [
    '-B',
    script,
    direction,
    url,
    `gs://${BUCKET}/agent`,
    folder,
  ]);
  return reportSchema.parse(JSON.parse(stdout));
}

/** No user configuration, and no credentials. */
function gcloudEnvironment(url: string, directory: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CLOUDSDK_CONFIG: join(directory, 'gcloud'),
    CLOUDSDK_CORE_PROJECT: 'bench',
    CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
    CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
    CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${url}/storage/v1/`,
  };
}

async function assertSameCount(one: string, other: string): Promise<void> {
  const [ours, theirs] = await Promise.all([one, other].map((path) => readdir(path, { recursive: true })));
  if (ours?.length !== theirs?.length) {
    throw new Error(`The agent restored ${ours?.length} entries, gcloud ${theirs?.length}.`);
  }
}

export async function startServer(directory: string) {
  await mkdir(directory);
  const child: ChildProcess = fork(join(import.meta.dirname, 'delayed-storage.ts'), [directory, BUCKET]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const closed = once(child, 'close');
      child.kill();
      await closed;
    },
  };
}

/** Writes files of random bytes, in folders of 1,000. */
async function writeTree(folder: string, { filesCount, fileBytes }: Tree): Promise<void> {
  const block = randomBytes(BLOCK_BYTES);
  for (let index = 0; index < filesCount; index += 1) {
    const parent = join(folder, `${Math.floor(index / FILES_PER_FOLDER)}`);
    await mkdir(parent, { recursive: true });
    const file = await open(join(parent, `${index}.bin`), 'w');
    for (let writtenBytes = 0; writtenBytes < fileBytes; writtenBytes += BLOCK_BYTES) {
      block.writeUInt32LE(index, 0);
      block.writeDoubleLE(writtenBytes, 4);
      await file.write(block, 0, Math.min(BLOCK_BYTES, fileBytes - writtenBytes));
    }
    await file.close();
  }
}

export function timeRow(name: string, seconds: number, floorSeconds: number): BenchRow {
  const ratio = seconds / floorSeconds;
  return {
    name,
    measured: `${seconds.toFixed(1)} s`,
    floor: `${floorSeconds.toFixed(1)} s`,
    ratio,
    goal: `time <= ${TIME_RATIO_MAX}`,
    isMet: ratio <= TIME_RATIO_MAX,
  };
}

function memoryRow(name: string, peakBytes: number): BenchRow {
  const ratio = peakBytes / AGENT_MEMORY_BYTES_MAX;
  return {
    name,
    measured: formatBytes(peakBytes),
    floor: formatBytes(AGENT_MEMORY_BYTES_MAX),
    ratio,
    goal: 'memory <= 1',
    isMet: ratio <= 1,
  };
}

const formatBytes = (bytes: number): string => (bytes < MB ? `${bytes} bytes` : `${(bytes / MB).toFixed(0)} MB`);
