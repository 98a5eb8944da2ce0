import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Document, parseDocument } from 'yaml';
import type { ApiClient } from '#cli/client/api-client.ts';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { streamLogs } from '#cli/client/follow-job.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

/** The project that the demo uploads. */
export const EXAMPLE_DIR = join(PRODUCT_ROOT, 'examples/digits');

/** Returns a new job id: `digits_20261121_064449`. */
export function createDemoJobId(now: Date, name: string): string {
  return `${name}_${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')}`;
}

/** Local paths of the results. No model file if the training failed. */
export type Results = { readonly modelFile: string | null; readonly logFile: string };

/** Submits the example by uploading its package, with the job id in its job file. */
export async function uploadExample(
  client: ObjectClient,
  target: { bucket: string; jobId: string },
): Promise<ObjectName> {
  const jobFile = parseDocument(await readFile(join(EXAMPLE_DIR, 'job.yaml'), 'utf8'));
  jobFile.set('jobId', target.jobId);
  // The pure Python engine, because with NumPy the training ends before any progress is visible.
  jobFile.setIn(['trainingInput', 'args'], ['--epochs', '30', '--engine', 'python']);
  return uploadPackage(client, { ...target, jobFile });
}

/** Submits the search of tune.yaml, or with `isTuned` false one training with the same arguments and no values. */
export async function uploadTuningExample(
  client: ObjectClient,
  { isTuned, ...target }: { bucket: string; jobId: string; isTuned: boolean },
): Promise<ObjectName> {
  const jobFile = parseDocument(await readFile(join(EXAMPLE_DIR, 'tune.yaml'), 'utf8'));
  jobFile.set('name', target.jobId);
  if (!isTuned) {
    jobFile.delete('tune');
  }
  return uploadPackage(client, { ...target, jobFile });
}

async function uploadPackage(
  client: ObjectClient,
  { jobFile, ...target }: { bucket: string; jobId: string; jobFile: Document },
): Promise<ObjectName> {
  const { fileName, bytes } = await buildSourceDistribution(EXAMPLE_DIR, {
    extraFiles: { 'job.yaml': String(jobFile) },
  });
  const object = { bucket: target.bucket, name: `${target.jobId}/${fileName}` };
  await client.write(object, bytes, { isNew: true });
  return object;
}

/** Downloads the job directory and the log to `RESULTS/JOB/`, where they remain available when the cloud is stopped. */
export async function downloadResults(
  clients: { readonly objects: ObjectClient; readonly api: ApiClient; readonly signal: AbortSignal },
  job: JobView,
  resultsDir: string,
): Promise<Results> {
  const copies = await planCopies(clients.objects, {
    sources: [job.jobDir],
    target: `${resultsDir}/`,
    isRecursive: true,
  });
  for (const copy of copies) {
    await runCopy(clients.objects, copy);
  }
  const lines: string[] = [];
  const { signal } = clients;
  await streamLogs(clients.api, job.jobId, { signal, onEntry: (entry) => lines.push(`${formatLogEntry(entry)}\n`) });
  const logFile = join(resultsDir, job.jobId, 'log.txt');
  await mkdir(dirname(logFile), { recursive: true });
  await writeFile(logFile, lines.join(''));
  return { modelFile: copies.find(({ to }) => to.endsWith('/model.json'))?.to ?? null, logFile };
}
