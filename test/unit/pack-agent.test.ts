import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';
import { type PackedAgent, packAgent } from '#infra/vm-agent/pack-agent.ts';
import { agentRefOf } from '#shared/protocol/agent-ref.ts';
import { findPythons, inspectPython, type Python } from '../support/find-pythons.ts';

const OWN = { command: 'python3', environment: process.env };

describe('packAgent', () => {
  it('is deterministic, and named after its SHA-256', async () => {
    const { bytes, sha256, objectName } = await packAgent();
    expect(await packAgent()).toEqual({ bytes, sha256, objectName });
    expect(sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(agentRefOf(`gs://sources/${objectName}`)).toEqual({ uri: `gs://sources/${objectName}`, sha256 });
  });

  it('contains the modules as they are written, comments included', async () => {
    const files = unzipSync((await packAgent()).bytes);
    for (const path of ['__main__.py', 'vm_agent/main.py', 'vm_agent/storage/restore.py']) {
      const source = await readFile(new URL(`../../infra/vm-agent/${path}`, import.meta.url), 'utf8');
      expect(strFromU8(files[path] ?? new Uint8Array()), path).toBe(source);
    }
    expect(Object.keys(files).filter((path) => path.includes('test'))).toEqual([]);
  });

  it('returns an archive that Python can run', async () => {
    const { loaded, archive } = await load(await packAgent(), 'python3');
    expect(loaded).toBe(`${archive}/vm_agent/main.py`);
  });

  it('compiles the modules for one interpreter, and every other one can run the archive', async () => {
    const agent = await packAgent(OWN);
    expect(await packAgent(OWN)).toEqual(agent);
    const { loaded, archive } = await load(agent, OWN.command);
    expect(loaded).toBe(`${archive}/vm_agent/main.pyc`);
    const isOther = ({ version }: Python) =>
      version.split('.')[1] !== inspectPython(OWN.command)?.version.split('.')[1];
    for (const { path } of findPythons().filter(isOther)) {
      const other = await load(agent, path);
      expect(other.loaded, path).toBe(`${other.archive}/vm_agent/main.py`);
    }
  });

  it.each(['false', '/none/python3'])('compiles nothing if %s does not compile', async (command) => {
    expect(await packAgent({ ...OWN, command })).toEqual(await packAgent());
  });
});

/** The file from which an interpreter loads the agent's main module. */
async function load({ bytes }: PackedAgent, python: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-pack-agent-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const archive = join(folder, 'agent.pyz');
  await writeFile(archive, bytes);
  const code = `import sys; sys.path.insert(0, ${JSON.stringify(archive)}); import vm_agent.main as m; print(m.__file__)`;
  const { stdout, stderr } = spawnSync(python, ['-c', code], { encoding: 'utf8' });
  return { archive, loaded: stdout.trim() || stderr };
}

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
