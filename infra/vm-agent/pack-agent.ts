import { readdir, readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';

const HERE = new URL('.', import.meta.url);

/** The size limit of a metadata value: 256 KiB (cloud.google.com/compute/docs/metadata/setting-custom-metadata). */
export const AGENT_BYTES_MAX = 262_144;

/** The earliest time that a zip file can store; a constant makes the archive depend on its sources only. */
const ZIP_EPOCH = new Date(1980, 0, 1);

/**
 * Returns the agent as the value of the metadata attribute `dropforge-agent`: a Python zip application
 * (docs.python.org/3/library/zipapp.html), compressed as a whole, which takes a third less than file by file, and in
 * base64. Deterministic. Throws if it exceeds `AGENT_BYTES_MAX`.
 */
export async function packAgent(): Promise<string> {
  const names = await readdir(new URL('vm_agent/', HERE), { recursive: true });
  const modules = names.filter((name) => name.endsWith('.py')).sort();
  const paths = ['__main__.py', ...modules.map((name) => `vm_agent/${name}`)];
  const files: Record<string, Uint8Array> = {};
  for (const path of paths) {
    files[path] = await readFile(new URL(path, HERE));
  }
  const archive = zipSync(files, { level: 0, mtime: ZIP_EPOCH });
  const application = Buffer.concat([strToU8('#!/usr/bin/env python3\n'), archive]);
  const text = deflateSync(application, { level: 9 }).toString('base64');
  if (text.length > AGENT_BYTES_MAX) {
    throw new Error(
      `The packed agent has ${text.length} bytes; a metadata value may have ${AGENT_BYTES_MAX}. Make the agent smaller.`,
    );
  }
  return text;
}

/** Returns the value of the metadata attribute `startup-script`. */
export function readStartupScript(): Promise<string> {
  return readFile(new URL('startup.sh', HERE), 'utf8');
}

/** Returns the value of the metadata attribute `shutdown-script`. */
export function readShutdownScript(): Promise<string> {
  return readFile(new URL('shutdown.sh', HERE), 'utf8');
}
