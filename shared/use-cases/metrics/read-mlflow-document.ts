import { z } from 'zod';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';
import { AccessDeniedError, type ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Where agents keep what programs log to MLflow (vm_agent/tracking/tracking.py). Programs can write it, too. */
const DOCUMENT_NAME = 'dropforge-mlflow.json';
const BYTES_MAX = 16 * 2 ** 20;

const pairs = z.record(z.string(), z.string());
const runSchema = z.object({
  prefix: z.string(),
  params: pairs,
  tags: pairs,
  metrics: z.record(z.string(), z.tuple([z.union([z.number(), z.enum(NON_FINITE_VALUES)]), z.number(), z.number()])),
});
const documentSchema = z.object({ runs: z.array(runSchema) });

export type MlflowRun = z.infer<typeof runSchema>;

/**
 * The main run that the program of a job has logged to MLflow; undefined if there is none, or no valid one. The metrics
 * of that run have value, milliseconds since the epoch, and step.
 */
export async function readMlflowRun(objects: ObjectStore, jobDir: string): Promise<MlflowRun | undefined> {
  const { bucket, name } = parseGsUri(jobDir);
  const object = { bucket, name: name === '' ? DOCUMENT_NAME : `${name}/${DOCUMENT_NAME}` };
  try {
    const info = await objects.stat(object);
    if (info === undefined || info.sizeBytes > BYTES_MAX) {
      return undefined;
    }
    const body = await objects.read(object, { generation: info.generation });
    const parts: Uint8Array[] = [];
    for await (const part of body ?? []) {
      parts.push(part);
    }
    const { data } = documentSchema.safeParse(parseJson(Buffer.concat(parts).toString('utf8')));
    // The newest: a later attempt continues or repeats the training.
    return data?.runs.filter(({ prefix }) => prefix === '').at(-1);
  } catch (error) {
    if (error instanceof AccessDeniedError) {
      return undefined;
    }
    throw error;
  }
}
