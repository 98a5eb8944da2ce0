import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { AGENT_BYTES_MAX, packAgent, readShutdownScript, readStartupScript } from '#infra/vm-agent/pack-agent.ts';

describe('packAgent', () => {
  it('is deterministic, and fits into a metadata value', async () => {
    const text = await packAgent();
    expect(await packAgent()).toBe(text);
    expect(text.length).toBeLessThan(AGENT_BYTES_MAX);
  });

  it('returns an archive that Python can run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-pack-agent-'));
    try {
      const archive = join(folder, 'agent.pyz');
      await writeFile(archive, inflateSync(Buffer.from(await packAgent(), 'base64')));
      const code = `import sys; sys.path.insert(0, ${JSON.stringify(archive)}); import vm_agent.main as m; print(m.__file__)`;
      const { stdout, stderr } = spawnSync('python3', ['-c', code], { encoding: 'utf8' });
      expect(stdout.trim(), stderr).toBe(`${archive}/vm_agent/main.py`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe.each([
  ['readStartupScript', readStartupScript],
  ['readShutdownScript', readShutdownScript],
])('%s', (_, readScript) => {
  it('returns a script that bash can parse', async () => {
    const script = await readScript();
    expect(script.startsWith('#!/usr/bin/env bash\n')).toBe(true);
    expect(spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });
});
