import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { PRODUCT_ROOT } from '#infra/product-root.ts';

const SOURCES = join(PRODUCT_ROOT, 'infra/vm-agent');

/** The earliest time that a zip file can store; a constant makes the archive depend on its sources only. */
const ZIP_EPOCH = new Date(1980, 0, 1);

export type PackedAgent = {
  readonly bytes: Uint8Array;
  /** In hexadecimal. */
  readonly sha256: string;
  /** The name of the agent's object in the bucket `sources`; terraform/agent.tf derives the same. */
  readonly objectName: string;
};

/**
 * Returns the agent as a Python zip application (docs.python.org/3/library/zipapp.html), which is stored in a bucket
 * under a name with its SHA-256. Deterministic.
 */
export async function packAgent(): Promise<PackedAgent> {
  const names = await readdir(join(SOURCES, 'vm_agent'), { recursive: true });
  const modules = names.filter((name) => name.endsWith('.py')).sort();
  const paths = ['__main__.py', ...modules.map((name) => `vm_agent/${name}`)];
  const files: Record<string, Uint8Array> = {};
  for (const path of paths) {
    files[path] = await readFile(join(SOURCES, path));
  }
  const bytes = zipSync(files, { level: 4, mtime: ZIP_EPOCH });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, sha256, objectName: `agent/${sha256}.pyz` };
}
