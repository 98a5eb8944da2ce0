import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { classOf } from '#shared/domain/cause.ts';
import { imageDiskBytesOf } from '#shared/domain/container.ts';
import { configure, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { type PushedImage, pushLayers, randomLayer } from '../support/containers/push-layers.ts';
import { type RegistryFront, startRegistryFront } from '../support/containers/registry-front.ts';
import {
  hasRegistry,
  type RegistryUnderTest,
  startRegistryUnderTest,
} from '../support/containers/registry-under-test.ts';
import { factsOf } from '../support/diagnosis/job-facts.ts';

const PASSWORD = 'correct-horse-battery';
const { cloud, machine, ended } = startMachineForEachTest();
const isThere = hasRegistry();

let engine: EngineUnderTest | null = null;
let registry: RegistryUnderTest;
let front: RegistryFront;

beforeAll(async () => {
  if (isThere) {
    engine = await startEngineUnderTest();
    registry = await startRegistryUnderTest();
    front = await startRegistryFront(registry.host);
  }
});

afterAll(async () => {
  await front?.stop();
  await registry?.stop();
  await engine?.stop();
});

/** Boots a VM whose program is this image; its registry is known by a secret. */
function boot({ digest, sizeBytes }: Pick<PushedImage, 'digest' | 'sizeBytes'>) {
  const secret = 'projects/acme/secrets/registry/versions/latest';
  const container = {
    image: `${front.host}/team/trainer@${digest}`,
    ...{ sizeBytes, ...imageDiskBytesOf({ sizeBytes }), argv: ['/none'], user: '', workingDirectory: '' },
    ...{ credentials: 'SECRET' as const, credentialsSecret: secret },
  };
  configure(cloud(), [], ({ spec, intervals }) => ({
    spec: { ...spec, module: '', args: [] },
    container,
    intervals: { ...intervals, heartbeatSeconds: 0.2 },
  }));
  const payload = { data: Buffer.from(`alice:${PASSWORD}\n`).toString('base64') };
  cloud().intercept = ({ url }) => (url.endsWith(`${secret}:access`) ? Response.json({ payload }) : undefined);
  return machine().boot(engine?.environment);
}

/** All files below a folder, with their contents. */
async function contentsOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map((file) => readFile(`${file.parentPath}/${file.name}`, 'latin1')));
  return texts.join('\n');
}

describe('a VM that pulls the image of its container', () => {
  it('keeps the password to itself, and ends when it is shut down', async (context) => {
    if (engine === null) {
      context.skip('no container engine or no docker-registry');
    }
    const layers = [randomLayer(2_000_000), randomLayer(8_000_000)];
    const image = await pushLayers(`${registry.host}/team/trainer`, layers);
    const stalled = Promise.withResolvers<void>();
    front.faults = { login: `alice:${PASSWORD}`, stall: stalled.resolve };
    const child = boot(image);
    await stalled.promise;
    await until(() => cloud().heartbeats.some(({ phase }) => phase === 'PULLING'), child);

    const encoded = Buffer.from(`alice:${PASSWORD}`).toString('base64');
    const { stdout: processes } = await promisify(execFile)('ps', ['-eo', 'args', '-ww']);
    const kept = `${processes}${await contentsOf(machine().home)}`;
    expect(kept).not.toContain(PASSWORD);
    expect(kept).not.toContain(encoded);

    const endedAt = once(child, 'exit');
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await endedAt;
    const last = cloud().heartbeats.at(-1);
    expect(last).toMatchObject({ phase: 'EXITED', exit: { reason: 'STOPPED' } });
    expect(JSON.stringify([cloud().heartbeats, cloud().logEntries])).not.toContain(PASSWORD);
  });

  it('ends the job with the cause and what to do if the registry rejects it', async (context) => {
    if (engine === null) {
      context.skip('no container engine or no docker-registry');
    }
    const image = await pushLayers(`${registry.host}/team/trainer`, [randomLayer(1_000)]);
    front.faults = { login: 'alice:another-password' };
    const report = await ended(boot(image));
    expect(report).toMatchObject({ reason: 'IMAGE_PULL_FAILED', exitCode: null });
    expect(report.message).toContain('(with the secret projects/acme/secrets/registry/versions/latest). Add a version');
    const exit = classifyExit(report, factsOf('digits_1'));
    expect(exit).toMatchObject({ outcome: 'FAILED', cause: { code: 'IMAGE_PULL_FAILED' } });
    expect(exit.outcome === 'FAILED' && classOf(exit.cause)).toBe('configuration');
    expect(JSON.stringify([cloud().heartbeats, cloud().logEntries])).not.toContain(PASSWORD);
    expect(cloud().heartbeats.map(({ phase }) => phase)).not.toContain('RUNNING');
  });
});
