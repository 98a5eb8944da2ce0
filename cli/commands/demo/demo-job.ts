import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';
import type { ApiClient } from '#cli/client/api-client.ts';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { streamLogs } from '#cli/client/follow-job.ts';
import type { GsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** The project that the demo trains. */
export const EXAMPLE_DIR = fileURLToPath(new URL('../../../examples/digits', import.meta.url));

/** A job id that was not there before: `digits_20261121_064449`. */
export function nameDemoJob(now: Date): string {
  return `digits_${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')}`;
}

/** Where the results are on this machine; there is no model when the training failed. */
export type Results = { readonly modelFile: string | null; readonly logFile: string };

/** Drops the example into the upload bucket, with a job id of its own in its job file: that is all it takes. */
export async function dropExample(client: ObjectClient, target: { bucket: string; jobId: string }): Promise<GsUri> {
  const jobFile = parseDocument(await readFile(join(EXAMPLE_DIR, 'job.yaml'), 'utf8'));
  jobFile.set('jobId', target.jobId);
  // NumPy would be done before there is anything to watch.
  jobFile.setIn(['trainingInput', 'args'], ['--epochs', '30', '--engine', 'python']);
  const { fileName, bytes } = await buildSourceDistribution(EXAMPLE_DIR, { 'job.yaml': String(jobFile) });
  const object = { bucket: target.bucket, name: `${target.jobId}/${fileName}` };
  await client.write(object, bytes, { isNew: true });
  return object;
}

/** Copies the job directory, and the log beside it, to where they stay when the cloud is gone: `RESULTS/JOB/`. */
export async function fetchResults(
  clients: { readonly objects: ObjectClient; readonly api: ApiClient; readonly signal: AbortSignal },
  job: JobView,
  resultsDir: string,
): Promise<Results> {
  const copies = await planCopies(clients.objects, { sources: [job.jobDir], target: `${resultsDir}/`, isDeep: true });
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
