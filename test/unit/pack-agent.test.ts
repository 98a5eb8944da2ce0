import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  AGENT_BYTES_MAX,
  packAgent,
  readShutdownScript,
  readStartupScript,
  toBase85,
} from '#infra/vm-agent/pack-agent.ts';

/** Prints which files of an archive differ from those in a folder, and which have a docstring left. */
const COMPARE = `
import ast, json, sys, zipfile
def statements(text):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(getattr(node, 'body', None), list):
            node.body = [one for one in node.body if not is_docstring(one)]
    return [(node.lineno, ast.dump(node)) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
def has_docstring(text):
    return any(is_docstring(node) and node.value.value for node in ast.walk(ast.parse(text)))
different, left = [], []
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        packed = archive.read(name).decode()
        with open(sys.argv[2] + '/' + name, encoding='utf-8') as file:
            if statements(file.read()) != statements(packed):
                different.append(name)
        if has_docstring(packed):
            left.append(name)
print(json.dumps({'different': different, 'withDocstring': left}))
`;

describe('packAgent', () => {
  it('is deterministic, and fits into a metadata value', async () => {
    const text = await packAgent();
    expect(await packAgent()).toBe(text);
    expect(text.length).toBeLessThan(AGENT_BYTES_MAX);
  });

  it('leaves out comments and docstrings, and nothing else: each statement keeps its line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-pack-agent-'));
    try {
      const archive = join(folder, 'agent.pyz');
      await writeFile(archive, inflateSync(fromBase85(await packAgent())));
      const args = ['-c', COMPARE, archive, fileURLToPath(new URL('../../infra/vm-agent', import.meta.url))];
      const { stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8' });
      expect(JSON.parse(stdout || stderr)).toEqual({ different: [], withDocstring: [] });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('returns an archive that Python can run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-pack-agent-'));
    try {
      const archive = join(folder, 'agent.pyz');
      await writeFile(archive, inflateSync(fromBase85(await packAgent())));
      const code = `import sys; sys.path.insert(0, ${JSON.stringify(archive)}); import vm_agent.main as m; print(m.__file__)`;
      const { stdout, stderr } = spawnSync('python3', ['-c', code], { encoding: 'utf8' });
      expect(stdout.trim(), stderr).toBe(`${archive}/vm_agent/main.py`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('toBase85', () => {
  it.each([0, 1, 2, 3, 4, 5, 4_096, 4_099])('encodes %i bytes as Python decodes them', (count) => {
    const bytes = Buffer.from(Array.from({ length: count }, (_, index) => (index * 89 + 255) % 256));
    expect(fromBase85(toBase85(bytes))).toEqual(bytes);
  });
});

/** By Python, as on a VM. */
function fromBase85(text: string): Buffer {
  const code = 'import base64, sys; sys.stdout.buffer.write(base64.b85decode(sys.stdin.buffer.read()))';
  return spawnSync('python3', ['-c', code], { input: text, maxBuffer: 2 * AGENT_BYTES_MAX }).stdout;
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
