import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { startEngineIn } from '../support/containers/engine-under-test.ts';
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
const engine = isMounted ? await startEngineIn(join(disk, 'docker')) : null;
const registry = engine === null ? undefined : await startRegistryUnderTest();

afterAll(async () => {
  await engine?.stop();
  await registry?.stop();
  if (isMounted) {
    await run('umount', ['--recursive', disk]);
  }
  await rm(disk, { recursive: true });
});

if (engine === null) {
  it('is not tested: this user may mount no disk, or Docker is not installed', () => {});
}

const push = (layers: Parameters<typeof pushLayers>[1]) => pushLayers(`${registry?.host}/team/large`, layers);

async function freeMib(): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return Math.round((bavail * bsize) / MIB);
}

/** Runs the agent's pull, until SIGTERM if it is aborted; returns how it ended. */
async function pull({ uri, sizeBytes }: PushedImage, diskBytesMax?: number, stopped?: AbortSignal): Promise<object> {
  const child = spawn('python3', [AGENT], {
    env: { ...process.env, ...engine?.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ image: uri, sizeBytes, diskBytesMax }));
  stopped?.addEventListener('abort', () => child.kill('SIGTERM'));
  const lines = (await text(child.stdout)).trim().split('\n');
  return JSON.parse(lines.at(-1) ?? '{}') as object;
}

/** Folders of layers: named by their ids. */
async function listLayers(): Promise<readonly string[]> {
  return (await readdir(join(disk, 'docker/overlay2')).catch(() => [])).filter((name) => /^[a-z0-9]{20,}/.test(name));
}

describe.skipIf(engine === null)('an image that unpacks to far more than its compressed size', () => {
  it('is deleted if it took more than the job may write; only layers of other images stay', async () => {
    const base = zeroLayer(20 * MIB);
    const small = await push([base]);
    expect(await pull(small)).toMatchObject({ ended: 'PULLED' });
    const [before, layers] = [await freeMib(), await listLayers()];
    const large = await push([base, randomLayer(MIB), zeroLayer(50 * MIB), zeroLayer(300 * MIB)]);
    expect(large.sizeBytes).toBeLessThan(5 * MIB);
    const message = expect.stringMatching(
      /takes more than 100\.0 MiB of disk unpacked, .* are \d\.\d MiB compressed\. Request a larger boot disk/,
    );
    expect(await pull(large, 100 * MIB)).toMatchObject({ ended: 'DISK_TOO_SMALL', message, left: [] });
    await expect.poll(freeMib).toBeGreaterThan(before - 5);
    expect(await listLayers()).toEqual(layers);
    expect(await engine?.run(['create', '--name', 'of-small', small.uri])).not.toBe('');
    await engine?.run(['rm', 'of-small']);
  });

  it('fills the disk and is gone, and the next image is pulled', async () => {
    const [before, layers] = [await freeMib(), await listLayers()];
    const end = await pull(await push([zeroLayer(50 * MIB), zeroLayer(DISK_MIB * MIB)]));
    const message = expect.stringMatching(/^The disk of the VM became full while .* larger boot disk/);
    expect(end).toMatchObject({ ended: 'DISK_TOO_SMALL', message, left: [] });
    await expect.poll(freeMib).toBeGreaterThan(before - 5);
    expect(await listLayers()).toEqual(layers);
    const next = await push([randomLayer(MIB), zeroLayer(10 * MIB)]);
    expect(await pull(next)).toMatchObject({ ended: 'PULLED', left: [] });
  });

  it('does not end another pull that has one of its layers already', async () => {
    const base = zeroLayer(20 * MIB);
    const other = await push([base, randomLayer(MIB)]);
    const layers = await listLayers();
    const front = await startRegistryFront(registry?.host ?? '');
    const released = Promise.withResolvers<void>();
    front.faults = { hold: (path) => (path.endsWith(other.layers[1] ?? '') ? released.promise : Promise.resolve()) };
    try {
      const pulling = pull({ ...other, uri: `${front.host}/team/large@${other.digest}` });
      await expect.poll(listLayers).toHaveLength(layers.length + 1);
      const end = await pull(await push([base, zeroLayer(300 * MIB)]), 100 * MIB);
      expect(end).toMatchObject({ ended: 'DISK_TOO_SMALL' });
      released.resolve();
      expect(await pulling).toMatchObject({ ended: 'PULLED', left: [] });
    } finally {
      released.resolve();
      await front.stop();
    }
  });

  it('leaves nothing if its pull is stopped', async () => {
    const [layers, image] = [await listLayers(), await push([zeroLayer(20 * MIB), randomLayer(MIB)])];
    const front = await startRegistryFront(registry?.host ?? '');
    const stopped = new AbortController();
    front.faults = {
      hold: (path) => (path.endsWith(image.layers[1] ?? '') ? new Promise(() => {}) : Promise.resolve()),
    };
    try {
      const pulling = pull({ ...image, uri: `${front.host}/team/large@${image.digest}` }, undefined, stopped.signal);
      await expect.poll(listLayers).toHaveLength(layers.length + 1);
      stopped.abort();
      expect(await pulling).toMatchObject({ ended: 'STOPPED', left: [] });
      await expect.poll(listLayers).toEqual(layers);
    } finally {
      await front.stop();
    }
    // An empty file stays until the registry has answered.
    await expect.poll(() => readdir(join(disk, 'docker/tmp'))).toEqual([]);
  });
});
