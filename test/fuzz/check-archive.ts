import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createArchiveListing } from '#shared/package/archive/archive-listing.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import { readTarArchive } from '#shared/package/archive/tar-archive.ts';
import { readZipArchive } from '#shared/package/archive/zip-archive.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf } from '../support/package/build-archives.ts';
import type { NamedArchive } from './any-archive.ts';

const AGENT = fileURLToPath(new URL('../../infra/vm-agent/tests/unpacking_agent.py', import.meta.url));

type Unpacked = { readonly files?: Readonly<Record<string, string>>; readonly invalid?: string };

export type ArchiveVerdict = 'rejected' | 'accepted';

/** Compares intake's list of an archive with what the agent unpacks, in one process of Python for all archives. */
export async function createArchiveCheck() {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-archives-'));
  const agent = spawn('python3', ['-B', AGENT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(agent.stdout)[Symbol.asyncIterator]();

  async function unpack({ name, bytes }: NamedArchive): Promise<Unpacked> {
    const path = join(folder, name);
    await writeFile(path, bytes);
    agent.stdin.write(`${path}\n`);
    const { value } = await lines.next();
    return JSON.parse(value ?? '') as Unpacked;
  }

  return {
    /**
     * An archive that intake accepts is unpacked, and has the same files with the same bytes; the agent follows links
     * to files. Throws an error otherwise.
     */
    async check(archive: NamedArchive): Promise<ArchiveVerdict> {
      const { problems } = await inspectPackage(sourceOf(archive.name, archive.bytes));
      if (problems.some(({ code }) => code !== 'NOT_INSTALLABLE')) {
        return 'rejected';
      }
      const listed = await list(archive);
      const { files, invalid } = await unpack(archive);
      if (files === undefined) {
        throw new Error(`Intake accepts an archive that the agent does not: ${invalid}`);
      }
      for (const [path, digest] of listed.files) {
        if (files[path] !== digest) {
          throw new Error(`"${path}" has other bytes on the VM, or is not there: ${Object.keys(files)}`);
        }
      }
      const unknown = Object.keys(files).find((path) => !listed.files.has(path) && !listed.links.has(path));
      if (unknown !== undefined) {
        throw new Error(`The VM has "${unknown}", which intake does not list.`);
      }
      return 'accepted';
    },
    async close(): Promise<void> {
      agent.stdin.end();
      await rm(folder, { recursive: true });
    },
  };
}

/** The files as intake reads them, with the SHA-256 of their bytes, and the links. */
async function list({ name, bytes }: NamedArchive) {
  const findings = createFindings();
  const listing = createArchiveListing(findings);
  const files = new Map<string, string>();
  const hashed = {
    ...listing,
    needsText: () => true,
    addText(path: string, text: Uint8Array) {
      if (listing.contents.kinds.get(path) === 'file') {
        files.set(path, createHash('sha256').update(text).digest('hex'));
      }
    },
  };
  const source = sourceOf(name, bytes);
  await (name.endsWith('.zip')
    ? readZipArchive({ source, listing: hashed, findings })
    : readTarArchive({ source, isCompressed: name.endsWith('.gz'), listing: hashed }));
  const links = new Set(
    [...listing.contents.kinds].flatMap(([path, kind]) => (kind === 'file' && files.has(path) ? [] : [path])),
  );
  return { files, links };
}
