import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zipSync } from 'fflate';

const HERE = new URL('.', import.meta.url);

/** The earliest time that a zip file can store; a constant makes the archive depend on its sources only. */
const ZIP_EPOCH = new Date(1980, 0, 1);

export type PackedAgent = {
  readonly bytes: Uint8Array;
  /** In hexadecimal. */
  readonly sha256: string;
  /** The name of the agent's object in the bucket `sources`; terraform/agent.tf derives the same. */
  readonly objectName: string;
};

/** Prints how this Python names the files in `__pycache__`, or nothing if it could not write them. */
const COMPILE = `
import compileall, sys
if compileall.compile_dir('vm_agent', quiet=2):
    print(sys.implementation.cache_tag)
`;

/** The flags of a compiled module that is used without a look at its source (PEP 552). */
const UNCHECKED = { offset: 4, value: 1 };

export type Interpreter = {
  readonly command: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/**
 * Returns the agent as a Python zip application (docs.python.org/3/library/zipapp.html), which is stored in a bucket
 * under a name with its SHA-256. Deterministic, for each interpreter. With one, the archive has the modules compiled
 * for its version, which halves the CPU time of the agent's start; every other version compiles them itself.
 */
export async function packAgent(interpreter?: Interpreter): Promise<PackedAgent> {
  const names = await readdir(new URL('vm_agent/', HERE), { recursive: true });
  const modules = names.filter((name) => name.endsWith('.py')).sort();
  const paths = ['__main__.py', ...modules.map((name) => `vm_agent/${name}`)];
  const files: Record<string, Uint8Array> = {};
  for (const path of paths) {
    files[path] = await readFile(new URL(path, HERE));
  }
  if (interpreter !== undefined) {
    Object.assign(files, await compileModules(modules, interpreter));
  }
  const bytes = zipSync(files, { level: 4, mtime: ZIP_EPOCH });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, sha256, objectName: `agent/${sha256}.pyz` };
}

/** The compiled modules; none where Python does not start or cannot write beside the sources. */
async function compileModules(
  modules: readonly string[],
  { command, environment }: Interpreter,
): Promise<Readonly<Record<string, Uint8Array>>> {
  const options = { cwd: HERE, env: environment as NodeJS.ProcessEnv };
  const { stdout } = await promisify(execFile)(command, ['-I', '-c', COMPILE], options).catch(() => ({ stdout: '' }));
  const tag = stdout.trim();
  const files: Record<string, Uint8Array> = {};
  for (const name of tag === '' ? [] : modules) {
    const compiled = `vm_agent/${name.replace(/([^/]+)\.py$/, `__pycache__/$1.${tag}.pyc`)}`;
    const bytes = await readFile(new URL(compiled, HERE));
    bytes.writeUInt32LE(UNCHECKED.value, UNCHECKED.offset);
    files[`vm_agent/${name}c`] = bytes;
  }
  return files;
}
