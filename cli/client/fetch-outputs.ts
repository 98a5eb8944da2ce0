import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { describeError, Failure } from '#cli/core/failure.ts';
import { copyCommand } from '#cli/core/program-name.ts';
import { OUTPUTS_IGNORE_FILE } from '#shared/package/source-names.ts';
import { formatBytes } from '#shared/text/format-number.ts';

/** Larger outputs stay in their bucket: to download them takes time and money that a user should decide on. */
const OUTPUTS_BYTES_MAX = 10 * 2 ** 30;

/** The packages of a job, which an embedded cloud has beside its outputs. */
const PACKAGE_NAME = /^packages\/[0-9a-f]{64}\//;

/** Errors of one name, such as `a/b` beside a file `a`; a full disk fails for all. */
const NAME_ERRORS: ReadonlySet<string | undefined> = new Set(['EEXIST', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'EINVAL']);

type Outputs = { readonly jobId: string; readonly jobDir: string; readonly cwd: string };

/**
 * Copies the job directory to a new folder `outputs/JOB`, or `outputs/JOB-2` and so on if there is one. Returns a
 * sentence that says where the files are.
 */
export async function fetchOutputs(client: ObjectClient, { jobId, jobDir, cwd }: Outputs): Promise<string> {
  const { bucket, name: prefix } = readGsUri(`${jobDir}/`);
  // The folder's own ignore file keeps outputs out of the next package.
  const isOutput = (name: string) =>
    !PACKAGE_NAME.test(name.slice(prefix.length)) && !name.endsWith('/') && name !== prefix + OUTPUTS_IGNORE_FILE.name;
  const found = await client.find({ bucket, name: prefix }, { isRecursive: true });
  const outputs = found.filter(({ name }) => isOutput(name));
  if (outputs.length === 0) {
    return `Job ${jobId} has saved no files.`;
  }
  const sizeBytes = outputs.reduce((sum, object) => sum + object.sizeBytes, 0);
  const size = `${outputs.length} ${outputs.length === 1 ? 'file' : 'files'}, ${formatBytes(sizeBytes)}`;
  if (sizeBytes > OUTPUTS_BYTES_MAX) {
    const limit = formatBytes(OUTPUTS_BYTES_MAX);
    return `The outputs (${size}) are larger than ${limit} and were not copied. To copy them, run \`${copyCommand(jobDir)}\`.`;
  }
  const folder = await findFreeName(join(cwd, 'outputs', jobId));
  const copies = await planCopies(client, { sources: [jobDir], target: folder, isRecursive: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, OUTPUTS_IGNORE_FILE.name), OUTPUTS_IGNORE_FILE.text, { flag: 'wx' });
  const failures: string[] = [];
  for (const copy of copies.filter(({ from }) => isOutput(readGsUri(from).name))) {
    // A name that no file can have does not keep the others in the bucket.
    await runCopy(client, copy).catch((error: unknown) => {
      if (!NAME_ERRORS.has((error as NodeJS.ErrnoException).code)) {
        throw error;
      }
      failures.push(`${copy.from} (${describeError(error)})`);
    });
  }
  if (failures.length > 0) {
    throw new Failure(
      `The outputs (${size}) are in ${relative(cwd, folder)}, without ${failures.length}: ${failures[0]}.`,
    );
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
