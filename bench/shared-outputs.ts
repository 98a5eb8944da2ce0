import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { findFreePort } from '#infra/embedded/http/server.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';
import { BUCKET, startServer, timeRow, transferByAgent } from './transfers.ts';

const SCRIPT = join(import.meta.dirname, 'shared_outputs_agent.py');
const REPLICAS = ['master-0', 'worker-0', 'worker-1'];
const BLOCK_BYTES = 16 * 1_024 ** 2;
const FULL_SHARD_BYTES = 2 * 1_024 ** 3;
/** An eighth. */
const SMALL_SHARD_BYTES = FULL_SHARD_BYTES / 8;
const TURNS = 3;

/** The interval on Google Cloud (infra/google-cloud/compose/vm-settings.ts). */
const SYNC_SECONDS = 30;

/** `takenAt` is when all replicas had taken the snapshots that are committed. */
const eventSchema = z.object({
  kind: z.enum(['connected', 'committed']),
  takenAt: z.number(),
  at: z.number(),
  files: z.array(z.string()),
});

type Event = z.infer<typeof eventSchema>;

/** In milliseconds. */
type Step = { readonly bare: number; readonly wait: number; readonly save: number };

/**
 * A step of a cluster: each replica writes a shard, and the manifest that names all of them makes it durable. The floor
 * is the slowest upload of a shard, with all replicas uploading at once. Each has an agent in a process of its own, on
 * a server that adds 30 ms to each request. DROPFORGE_BENCH_TRANSFERS=full takes shards of 2 GiB, and 40 GB of disk
 * space.
 */
export async function benchSharedOutputs(environment: NodeJS.ProcessEnv): Promise<BenchRow[]> {
  const isFull = environment.DROPFORGE_BENCH_TRANSFERS === 'full';
  const shardBytes = isFull ? FULL_SHARD_BYTES : SMALL_SHARD_BYTES;
  const steps: Step[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
    try {
      const bare = await measureUpload(join(directory, 'upload'), shardBytes);
      await rm(join(directory, 'upload'), { recursive: true });
      // The steps of a program and the rounds of its agents have no common clock.
      const delayMs = (turn / TURNS) * SYNC_SECONDS * 1_000;
      const saved = await measureSave(join(directory, 'save'), shardBytes, delayMs);
      steps.push({ bare, ...saved });
      // The full sizes take long: what has been measured is not lost if a later turn fails.
      process.stderr.write(
        `upload ${bare.toFixed(0)} ms, wait ${saved.wait.toFixed(0)} ms, save ${saved.save.toFixed(0)} ms\n`,
      );
    } finally {
      await rm(directory, { recursive: true });
    }
  }
  return rowsOf(steps, shardBytes);
}

/** Returns how long the slowest upload takes. */
async function measureUpload(directory: string, shardBytes: number): Promise<number> {
  const folders = REPLICAS.map((replica) => join(directory, replica));
  await Promise.all(folders.map((folder, rank) => writeShard(join(folder, `shard-${rank}`), shardBytes)));
  const server = await startServer(join(directory, 'server'));
  try {
    const uploads = await Promise.all(folders.map((folder) => transferByAgent('upload', server.url, folder)));
    return Math.max(...uploads.map(({ seconds }) => seconds)) * 1_000;
  } finally {
    await server.stop();
  }
}

/** Returns how long the snapshots of all wait for a pause after the last shard is written, and then the manifest. */
async function measureSave(directory: string, shardBytes: number, delayMs: number): Promise<Omit<Step, 'bare'>> {
  const homes = REPLICAS.map((replica) => join(directory, replica));
  await Promise.all(homes.map((home) => mkdir(join(home, 'output'), { recursive: true })));
  const names = REPLICAS.map((_, rank) => `step-1/shard-${rank}`);
  const server = await startServer(join(directory, 'server'));
  const others = [REPLICAS.slice(1).join(','), `${await findFreePort(0)}`, `${SYNC_SECONDS}`];
  const agents = homes.map((home) => startAgent([server.url, `gs://${BUCKET}/job`, home, ...others]));
  try {
    await agents[0]?.next('connected');
    await delay(delayMs);
    await Promise.all(homes.map((home, rank) => writeShard(join(home, 'output', names[rank] ?? ''), shardBytes)));
    const writtenAt = Date.now();
    const isWhole = ({ files }: Event) => names.every((name) => files.includes(name));
    const { takenAt = 0, at = 0 } = (await agents[0]?.next('committed', isWhole)) ?? {};
    return { wait: takenAt - writtenAt, save: at - takenAt };
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await server.stop();
  }
}

/** The file is on the disk at the end, so that no upload competes with its writing. */
async function writeShard(path: string, shardBytes: number): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  const block = randomBytes(BLOCK_BYTES);
  const file = await open(path, 'w');
  for (let writtenBytes = 0; writtenBytes < shardBytes; writtenBytes += BLOCK_BYTES) {
    await file.write(block);
  }
  await file.sync();
  await file.close();
}

function startAgent(args: readonly string[]) {
  const child = spawn('python3', ['-B', SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** Resolves with the next event of this kind. */
    async next(kind: Event['kind'], isWanted: (event: Event) => boolean = () => true): Promise<Event> {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) {
          throw new Error(`The agent ended before it was ${kind}.`);
        }
        const event = eventSchema.parse(JSON.parse(value));
        if (event.kind === kind && isWanted(event)) {
          return event;
        }
      }
    },
    async stop() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

function rowsOf(steps: readonly Step[], shardBytes: number): BenchRow[] {
  const name = `${REPLICAS.length} replicas x ${shardBytes / 1_024 ** 2} MiB`;
  const floorName = 'floor: the slowest upload of a shard';
  const secondsOf = (get: (step: Step) => number) => median(steps.map(get)) / 1_000;
  const bare = secondsOf((step) => step.bare);
  const wait = secondsOf((step) => step.wait);
  const save = secondsOf((step) => step.save);
  const both = secondsOf((step) => step.wait + step.save);
  return [
    timeRow(`${name}: snapshots of all -> durable (${floorName})`, save, bare),
    // A round that finds less than a quarter of the interval without changes leaves the step to the next.
    timeRow(`${name}: last shard written -> snapshots of all (floor: the sync interval)`, wait, SYNC_SECONDS),
    timeRow(`${name}: last shard written -> durable (${floorName})`, both, bare),
  ];
}
