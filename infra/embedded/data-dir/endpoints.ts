import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Where a running embedded cloud can be reached; addresses have no slash at the end. */
export const endpointsSchema = z.object({
  /** The process that serves them. */
  pid: z.int().positive(),
  projectId: z.string().min(1),
  /** The HTTP API of Dropforge. */
  api: z.url(),
  /** The Cloud Storage JSON API is under `/storage/v1` of this address, as it is on `storage.googleapis.com`. */
  storage: z.url(),
  pubsub: z.url(),
  /** The Compute Engine API is under `/compute/v1` of this address. */
  compute: z.url(),
  secretManager: z.url(),
  /** What only an embedded cloud has: its VMs, queues and zones. */
  admin: z.url(),
  uploadBucket: z.string().min(1),
  jobsBucket: z.string().min(1),
});

export type Endpoints = z.infer<typeof endpointsSchema>;

const FILE_NAME = 'endpoints.json';

/** The endpoints of the cloud that runs on this data directory; undefined when none does, or only one that died. */
export async function readEndpoints(dataDir: string): Promise<Endpoints | undefined> {
  let text: string;
  try {
    text = await readFile(join(dataDir, FILE_NAME), 'utf8');
  } catch (error) {
    if (isMissing(error)) {
      return undefined;
    }
    throw error;
  }
  const endpoints = endpointsSchema.parse(JSON.parse(text));
  return isAlive(endpoints.pid) ? endpoints : undefined;
}

/** Replaces the file in one step, so that no reader sees half of it. */
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
    // A process of another user is alive, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
