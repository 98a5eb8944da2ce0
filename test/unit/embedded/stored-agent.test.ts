import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { type EmbeddedPorts, openEmbeddedPorts } from '#infra/embedded/embedded-ports.ts';
import { packAgent } from '#infra/vm-agent/pack-agent.ts';
import { createLogger } from '#shared/observability/logger.ts';

test('a start of the embedded cloud replaces an agent that a program has changed, and keeps the others', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-agent-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const agent = await packAgent();
  const stored = { bucket: 'dropforge-local-sources', name: agent.objectName };
  const earlier = { ...stored, name: `agent/${'0'.repeat(64)}.pyz` };
  await startOnce(dataDir, async ({ functions }) => {
    await functions.objects.write(stored, Buffer.from('changed'));
    await functions.objects.write(earlier, Buffer.from('earlier'));
  });
  await startOnce(dataDir, async ({ functions }) => {
    const [bytes, other] = [await functions.objects.read(stored), await functions.objects.read(earlier)];
    expect(bytes && (await buffer(bytes))).toEqual(Buffer.from(agent.bytes));
    expect(other).toBeDefined();
  });
});

async function startOnce(dataDir: string, work: (ports: EmbeddedPorts) => Promise<void>): Promise<void> {
  const ports = await openEmbeddedPorts({
    dataDir,
    config: parseEmbeddedConfig({}, 'the configuration'),
    serverPorts: { storage: 1, cloud: 1, api: 1, heartbeat: 1 },
    logger: createLogger(() => {}),
    environment: {},
  });
  await work(ports);
  await ports.vms.close({ isKeepingVms: false });
  ports.database.close();
}
