import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { type EngineUnderTest, startEnginesIn } from '../support/containers/engine-under-test.ts';
import { type PushedImage, pushLayers, randomLayer, zeroLayer } from '../support/containers/push-layers.ts';
import { startRegistryFront } from '../support/containers/registry-front.ts';
import { startRegistryUnderTest } from '../support/containers/registry-under-test.ts';

const AGENT = fileURLToPath(new URL('../../infra/vm-agent/tests/pulling_agent.py', import.meta.url));
const MIB = 2 ** 20;
const DISK_MIB = 1_000;

const run = promisify(execFile);
const disk = await mkdtemp(join(tmpdir(), 'dropforge-small-disk-'));
const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'none', disk]).then(
  () => true,
  () => false,
);
const engines = isMounted ? await startEnginesIn(disk) : [];
const registry = engines.length === 0 ? undefined : await startRegistryUnderTest();

afterAll(async () => {
  for (const engine of engines) {
    await engine.stop();
  }
  await registry?.stop();
  if (isMounted) {
    await run('umount', ['--recursive', disk]);
  }
  await rm(disk, { recursive: true });
});

if (engines.length === 0) {
  it('is not tested: this user may mount no disk, or there is no container engine', () => {});
}

const push = (layers: Parameters<typeof pushLayers>[1]) => pushLayers(`${registry?.host}/team/large`, layers);

async function freeMib(): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return Math.round((bavail * bsize) / MIB);
}

/** Runs the agent's pull; returns how it ended, and the least free space in MiB. */
async function pull(engine: EngineUnderTest, { uri, sizeBytes }: PushedImage, diskBytesMax?: number) {
  const child = spawn('python3', [AGENT], {
    env: { ...process.env, ...engine.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ image: uri, sizeBytes, diskBytesMax }));
  let leastMib = Number.POSITIVE_INFINITY;
  const watch = setInterval(async () => {
    leastMib = Math.min(leastMib, await freeMib());
  }, 10);
  const lines = (await text(child.stdout)).trim().split('\n');
  clearInterval(watch);
  return { end: JSON.parse(lines.at(-1) ?? '{}') as object, leastMib };
}

/** Folders of layers: named by their ids. */
async function listLayers(kind: EngineUnderTest['kind']): Promise<readonly string[]> {
  const folder = kind === 'docker' ? 'docker/overlay2' : 'podman/root/overlay';
  return (await readdir(join(disk, folder)).catch(() => [])).filter((name) => /^[a-z0-9]{20,}/.test(name));
}

describe.each(engines)('an image that $kind unpacks to far more than its compressed size', (engine) => {
  it('ends when it takes more than the job may write; only layers of other images stay', async () => {
    const base = zeroLayer(20 * MIB);
    const small = await push([base]);
    expect((await pull(engine, small)).end).toMatchObject({ ended: 'PULLED' });
    const [before, layers] = [await freeMib(), await listLayers(engine.kind)];
    const large = await push([base, randomLayer(MIB), zeroLayer(50 * MIB), zeroLayer(500 * MIB)]);
    expect(large.sizeBytes).toBeLessThan(5 * MIB);
    const { end, leastMib } = await pull(engine, large, 100 * MIB);
    const message = expect.stringMatching(
      /takes more than 100\.0 MiB of disk unpacked, .* are \d\.\d MiB compressed\. Request a larger boot disk/,
    );
    expect(end).toMatchObject({ ended: 'DISK_TOO_SMALL', message, left: [] });
    expect(leastMib).toBeGreaterThan(before - 400);
    await expect.poll(freeMib).toBeGreaterThan(before - 5);
    expect(await listLayers(engine.kind)).toEqual(layers);
    expect(await engine.run(['create', '--name', 'of-small', small.uri])).not.toBe('');
    await engine.run(['rm', 'of-small']);
  });

  it('ends before the disk is full, and the next image is pulled', async () => {
    const [before, layers] = [await freeMib(), await listLayers(engine.kind)];
    const { end, leastMib } = await pull(engine, await push([zeroLayer(50 * MIB), zeroLayer(DISK_MIB * MIB)]));
    const message = expect.stringMatching(/was filling the disk: .* were free before .* larger boot disk/);
    expect(end).toMatchObject({ ended: 'DISK_TOO_SMALL', message, left: [] });
    expect(leastMib).toBeGreaterThan(0);
    await expect.poll(freeMib).toBeGreaterThan(before - 5);
    expect(await listLayers(engine.kind)).toEqual(layers);
    const next = await push([randomLayer(MIB), zeroLayer(10 * MIB)]);
    expect((await pull(engine, next)).end).toMatchObject({ ended: 'PULLED', left: [] });
  });

  it('does not end another pull that has one of its layers already', async () => {
    const base = zeroLayer(20 * MIB);
    const other = await push([base, randomLayer(MIB)]);
    const layers = await listLayers(engine.kind);
    const front = await startRegistryFront(registry?.host ?? '');
    const released = Promise.withResolvers<void>();
    front.faults = { hold: (path) => (path.endsWith(other.layers[1] ?? '') ? released.promise : Promise.resolve()) };
    try {
      const pulling = pull(engine, { ...other, uri: `${front.host}/team/large@${other.digest}` });
      await expect.poll(() => listLayers(engine.kind)).toHaveLength(layers.length + 1);
      const { end } = await pull(engine, await push([base, zeroLayer(500 * MIB)]), 100 * MIB);
      expect(end).toMatchObject({ ended: 'DISK_TOO_SMALL' });
      released.resolve();
      expect((await pulling).end).toMatchObject({ ended: 'PULLED', left: [] });
    } finally {
      released.resolve();
      await front.stop();
    }
  });
});
