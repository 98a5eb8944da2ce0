import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const EXAMPLE_DIR = fileURLToPath(new URL('../../examples/cluster', import.meta.url));

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dropforge-cluster-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function findFreePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' ? `${address?.port}` : '';
}

const outputOf = (name: string, rank: number) => join(root, name, `${rank}`);

/** Runs the program on so many replicas, each with an output directory of its own; returns what the master prints. */
async function train(name: string, count: number, args: readonly string[]): Promise<string> {
  const cluster = { MASTER_ADDR: '127.0.0.1', MASTER_PORT: await findFreePort(), WORLD_SIZE: `${count}` };
  const replicas = Array.from({ length: count }, (_, rank) => {
    const own = { RANK: `${rank}`, DROPFORGE_OUTPUT_DIR: outputOf(name, rank), PYTHONDONTWRITEBYTECODE: '1' };
    return spawn('python3', ['-m', 'trainer.task', '--step-seconds=0', '--save-every=5', ...args], {
      cwd: EXAMPLE_DIR,
      env: { ...process.env, ...cluster, ...own },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  });
  const printed = replicas.map(({ stdout }) => text(stdout));
  const codes = await Promise.all(replicas.map((replica) => once(replica, 'exit')));
  expect(codes.map(([code]) => code)).toEqual(replicas.map(() => 0));
  return (await printed[0]) ?? '';
}

/** The parameters of the last checkpoint. */
async function readModel(name: string): Promise<readonly number[]> {
  const folder = join(outputOf(name, 0), 'checkpoints');
  const indexes = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8'));
  const shards: readonly string[] = indexes.at(-1).shards;
  const contents = await Promise.all(shards.map((shard) => readFile(join(folder, shard), 'utf8')));
  return contents.flatMap((content) => JSON.parse(content));
}

/** Gives each replica the files of all, as Dropforge does before an attempt. */
async function share(name: string, count: number): Promise<void> {
  const others = Array.from({ length: count - 1 }, (_, index) => outputOf(name, index + 1));
  for (const other of others) {
    await cp(other, outputOf(name, 0), { recursive: true, force: false });
  }
  for (const other of others) {
    await cp(outputOf(name, 0), other, { recursive: true });
  }
}

it('continues on another number of replicas from the files of all, with the result of an uninterrupted run', async () => {
  await train('resized', 3, ['--steps=7']);
  await share('resized', 3);
  expect(await train('resized', 2, ['--steps=12'])).toContain('has parameters 0 to 500 at step 7.');
  await share('resized', 2);
  await train('uninterrupted', 1, ['--steps=12']);
  expect(await readModel('resized')).toEqual(await readModel('uninterrupted'));
});

it('begins again when a shard is missing, which it names, and continues where each replica has all of them', async () => {
  await train('own', 2, ['--steps=5']);
  const names = 'step-00000005.shard-1-of-2.json';
  const printed = await train('own', 2, ['--steps=5']);
  expect(printed).toContain(`The checkpoint of step 5 cannot be used without ${names}.`);
  expect(printed).toContain('at step 0.');
  await cp(outputOf('own', 1), outputOf('own', 0), { recursive: true });
  expect(await train('own', 1, ['--steps=6'])).toContain('at step 5.');
});
