import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';
import { packAgent } from '#infra/vm-agent/pack-agent.ts';
import { agentRefOf } from '#shared/protocol/agent-ref.ts';

describe('packAgent', () => {
  it('is deterministic, and named after its SHA-256', async () => {
    const { bytes, sha256, objectName } = await packAgent();
    expect(await packAgent()).toEqual({ bytes, sha256, objectName });
    expect(sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(agentRefOf(`gs://sources/${objectName}`)).toEqual({ uri: `gs://sources/${objectName}`, sha256 });
  });

  it('contains the modules as they are written, comments included', async () => {
    const files = unzipSync((await packAgent()).bytes);
    for (const path of ['__main__.py', 'vm_agent/main.py', 'vm_agent/storage/restore/restore.py']) {
      const source = await readFile(new URL(`../../infra/vm-agent/${path}`, import.meta.url), 'utf8');
      expect(strFromU8(files[path] ?? new Uint8Array()), path).toBe(source);
    }
    expect(Object.keys(files).filter((path) => path.includes('test'))).toEqual([]);
  });

  it('returns an archive that Python can run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-pack-agent-'));
    try {
      const archive = join(folder, 'agent.pyz');
      await writeFile(archive, (await packAgent()).bytes);
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
