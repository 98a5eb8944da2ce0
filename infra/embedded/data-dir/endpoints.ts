import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** An embedded cloud listens nowhere else. A repository can have its file, and another host would get secrets. */
const localUrl = z.url({ protocol: /^http$/, hostname: /^127\.0\.0\.1$/ });

/** The endpoints of a running embedded cloud; URLs have no trailing slash. */
const endpointsSchema = z.object({
  /** The serving process. */
  pid: z.int().positive(),
  projectId: z.string().min(1),
  /** The HTTP API of Dropforge. */
  api: localUrl,
  /** The Cloud Storage JSON API is at `/storage/v1` of this URL, as on `storage.googleapis.com`. */
  storage: localUrl,
  pubsub: localUrl,
  /** The Compute Engine API is at `/compute/v1` of this URL. */
  compute: localUrl,
  secretManager: localUrl,
  /** The admin API, which only an embedded cloud has: its VMs, queues and zones. */
  admin: localUrl,
  uploadBucket: z.string().min(1),
  jobsBucket: z.string().min(1),
});

export type Endpoints = z.infer<typeof endpointsSchema>;

const FILE_NAME = 'endpoints.json';

/** The endpoints of the cloud that this user, or root, runs on this data directory; undefined if there is none. */
export async function readEndpoints(dataDir: string): Promise<Endpoints | undefined> {
  const file = await open(join(dataDir, FILE_NAME)).catch(ignoreMissing);
  const [text, owner] = await Promise.all([file?.readFile('utf8'), file?.stat()]).finally(() => file?.close());
  const isOwn = [0, process.getuid?.()].includes(owner?.uid);
  const { data } = endpointsSchema.safeParse(isOwn ? parseJson(text ?? '') : undefined);
  return data !== undefined && isAlive(data.pid) ? data : undefined;
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
