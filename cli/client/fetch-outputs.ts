import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { programName } from '#cli/core/program-name.ts';
import { OUTPUTS_IGNORE_FILE } from '#shared/package/source-names.ts';
import { formatBytes } from '#shared/text/format-number.ts';

/** Larger outputs stay in their bucket: to download them takes time and money that a user should decide on. */
const OUTPUTS_BYTES_MAX = 10 * 2 ** 30;

/** The packages of a job, which an embedded cloud has beside its outputs. */
const PACKAGE_NAME = /^packages\/[0-9a-f]{64}\//;

type Outputs = { readonly jobId: string; readonly jobDir: string; readonly cwd: string };

/**
 * Copies the job directory to a new folder `outputs/JOB`, or `outputs/JOB-2` and so on if there is one. Returns a
 * sentence that says where the files are.
 */
export async function fetchOutputs(client: ObjectClient, { jobId, jobDir, cwd }: Outputs): Promise<string> {
  const { bucket, name: prefix } = readGsUri(`${jobDir}/`);
  const isOutput = (name: string) => !PACKAGE_NAME.test(name.slice(prefix.length));
  const found = await client.find({ bucket, name: prefix }, { isRecursive: true });
  const outputs = found.filter(({ name }) => isOutput(name));
  if (outputs.length === 0) {
    return `Job ${jobId} has saved no files.`;
  }
  const sizeBytes = outputs.reduce((sum, object) => sum + object.sizeBytes, 0);
  const size = `${outputs.length} ${outputs.length === 1 ? 'file' : 'files'}, ${formatBytes(sizeBytes)}`;
  if (sizeBytes > OUTPUTS_BYTES_MAX) {
    const limit = formatBytes(OUTPUTS_BYTES_MAX);
    return `The outputs (${size}) are larger than ${limit} and were not copied. To copy them, run \`${programName()} cp -r ${jobDir} outputs/\`.`;
  }
  const folder = await findFreeName(join(cwd, 'outputs', jobId));
  const copies = await planCopies(client, { sources: [jobDir], target: folder, isRecursive: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, OUTPUTS_IGNORE_FILE.name), OUTPUTS_IGNORE_FILE.text, { flag: 'wx' });
  for (const copy of copies.filter(({ from }) => isOutput(readGsUri(from).name))) {
    await runCopy(client, copy);
  }
  return `The outputs (${size}) are in ${relative(cwd, folder)}.`;
}

async function findFreeName(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const folder = number === 1 ? path : `${path}-${number}`;
    if ((await stat(folder).catch(() => undefined)) === undefined) {
      return folder;
    }
  }
}
