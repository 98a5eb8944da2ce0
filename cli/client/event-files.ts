import { createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ObjectClient, StoredObject } from '#cli/client/object-client.ts';
import { Failure } from '#cli/core/failure.ts';
import { parseGsUri, toGsUri } from '#shared/protocol/gs-uri.ts';

/** Every writer of event files has it in their names. */
const NAME_PART = 'tfevents';
export const EVENT_FILE_COUNT_MAX = 5_000;
export const EVENT_BYTES_MAX = 10 * 2 ** 30;
const ATTEMPT_KEY = 'dropforge-attempt';

export type JobFolder = { readonly jobId: string; readonly jobDir: string };

/**
 * Copies the event files of jobs into a folder, and with every further call what was appended to them: an event file
 * only grows. TensorBoard shows a run for each folder, so each attempt has one.
 */
export class EventFiles {
  readonly #client: ObjectClient;
  readonly #folder: string;
  readonly #limits: { readonly countMax: number; readonly bytesMax: number };
  readonly #copied = new Map<string, StoredObject>();

  constructor(
    client: ObjectClient,
    folder: string,
    limits = { countMax: EVENT_FILE_COUNT_MAX, bytesMax: EVENT_BYTES_MAX },
  ) {
    this.#client = client;
    this.#folder = folder;
    this.#limits = limits;
  }

  get count(): number {
    return this.#copied.size;
  }

  /** Returns the bytes that were copied. Throws Failure beyond the limits. */
  async sync(jobs: readonly JobFolder[]): Promise<number> {
    let copiedBytes = 0;
    for (const job of jobs) {
      for (const object of await this.#find(job)) {
        copiedBytes += await this.#copy(object, job);
      }
    }
    return copiedBytes;
  }

  async #find({ jobDir }: JobFolder): Promise<readonly StoredObject[]> {
    const { bucket, name } = parseGsUri(jobDir);
    const objects = await this.#client.find({ bucket, name }, { isRecursive: true });
    return objects.filter((object) => object.name.slice(object.name.lastIndexOf('/') + 1).includes(NAME_PART));
  }

  async #copy(object: StoredObject, job: JobFolder): Promise<number> {
    const path = pathOf(object, job);
    const known = path === undefined ? undefined : this.#copied.get(path);
    if (path === undefined || known?.generation === object.generation) {
      return 0;
    }
    this.#checkLimits(path, object, job);
    const target = join(this.#folder, path);
    await mkdir(dirname(target), { recursive: true });
    // What is on the disk counts: an earlier run of the command may have copied it, or only a part.
    const sizeBytes = (await stat(target).catch(() => undefined))?.size ?? 0;
    const isGrown = sizeBytes <= object.sizeBytes;
    const startByte = isGrown ? sizeBytes : 0;
    if (!isGrown) {
      await rm(target);
    }
    if (startByte < object.sizeBytes) {
      const body = this.#client.open(object, { startByte, generation: object.generation });
      try {
        await pipeline(body, createWriteStream(target, { flags: 'a' }));
      } catch (error) {
        if (error instanceof Error && 'code' in error && Number(error.code) === 404) {
          // The object was replaced since it was listed: the next call finds the new one.
          return 0;
        }
        throw error;
      }
    }
    this.#copied.set(path, object);
    return object.sizeBytes - startByte;
  }

  #checkLimits(path: string, object: StoredObject, { jobId }: JobFolder): void {
    const { countMax, bytesMax } = this.#limits;
    const others = [...this.#copied].filter(([each]) => each !== path).map(([, { sizeBytes }]) => sizeBytes);
    const sumBytes = others.reduce((sum, bytes) => sum + bytes, object.sizeBytes);
    if (others.length >= countMax || sumBytes > bytesMax) {
      const limit = others.length >= countMax ? `${countMax} event files` : `${bytesMax} bytes of event files`;
      throw new Failure(
        `The jobs have more than ${limit}, at ${toGsUri(object)} of job ${jobId}. Follow fewer jobs, or copy the files with \`gcloud storage rsync\`.`,
      );
    }
  }
}

/** `JOB/logs/train/…`, with the attempt from the second one on; undefined if the name leads out of the folder. */
function pathOf({ name, metadata }: StoredObject, { jobId, jobDir }: JobFolder): string | undefined {
  const root = parseGsUri(jobDir).name;
  const relative = root === '' ? name : name.slice(root.length + 1);
  const attempt = Number(metadata[ATTEMPT_KEY] ?? 1);
  const run = Number.isSafeInteger(attempt) && attempt > 1 ? `${jobId}.attempt-${attempt}` : jobId;
  const parts = relative.split('/');
  const isSafe = parts.every((part) => !['', '.', '..'].includes(part) && !/[\\:\0]/.test(part) && part.length <= 255);
  return isSafe ? [run, ...parts].join('/') : undefined;
}
