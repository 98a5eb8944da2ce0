import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';

/** The endpoints of a running embedded cloud; URLs have no trailing slash. */
const endpointsSchema = z.object({
  /** The serving process. */
  pid: z.int().positive(),
  projectId: z.string().min(1),
  /** The HTTP API of Dropforge. */
  api: z.url(),
  /** The Cloud Storage JSON API is at `/storage/v1` of this URL, as on `storage.googleapis.com`. */
  storage: z.url(),
  pubsub: z.url(),
  /** The Compute Engine API is at `/compute/v1` of this URL. */
  compute: z.url(),
  secretManager: z.url(),
  /** The admin API, which only an embedded cloud has: its VMs, queues and zones. */
  admin: z.url(),
  uploadBucket: z.string().min(1),
  jobsBucket: z.string().min(1),
});

export type Endpoints = z.infer<typeof endpointsSchema>;

const FILE_NAME = 'endpoints.json';

/** The endpoints of the cloud running on this data directory; undefined if none is running. */
export async function readEndpoints(dataDir: string): Promise<Endpoints | undefined> {
  const text = await readFile(join(dataDir, FILE_NAME), 'utf8').catch(ignoreMissing);
  if (text === undefined) {
    return undefined;
  }
  const endpoints = endpointsSchema.parse(JSON.parse(text));
  return isAlive(endpoints.pid) ? endpoints : undefined;
}

/** Replaces the file atomically, so that no reader sees a partial write. */
export async function writeEndpoints(dataDir: string, endpoints: Endpoints): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const draft = join(dataDir, `.${FILE_NAME}.${process.pid}.tmp`);
  await writeFile(draft, `${JSON.stringify(endpointsSchema.parse(endpoints), null, 2)}\n`);
  await rename(draft, join(dataDir, FILE_NAME));
}

export async function removeEndpoints(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE_NAME), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
