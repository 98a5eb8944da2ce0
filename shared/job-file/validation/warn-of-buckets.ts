import type { Program } from '#shared/domain/job-spec.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';

/** A path at the beginning of an argument or of its value: `/gcs/data/train.csv`, `--out=/gcs/models`. */
const BUCKET_PATH = /(?:^|=)\/gcs\/([^/]+)/;

/**
 * Warns of arguments of containers that name another bucket than that of the job directory, which Vertex AI mounts:
 * only Python opens such paths, and only to read.
 */
export function warnOfBuckets(programs: readonly Program[], jobDir: string, findings: Findings): void {
  const { bucket } = parseGsUri(jobDir);
  const args = programs.flatMap((program) =>
    program.kind === 'CONTAINER' ? [...program.command, ...program.args] : [],
  );
  for (const arg of new Set(args)) {
    const named = BUCKET_PATH.exec(arg)?.[1];
    if (named !== undefined && named !== bucket) {
      findings.warnings.push({
        code: 'BUCKET_NOT_MOUNTED',
        message: `The argument ${quote(arg)} names a path in the bucket ${named}, which is not mounted: /gcs has only the job directory. Python can read the path, and every program fails to write to it.`,
        remedy: `Write outputs to the job directory, /gcs/${jobDir.slice('gs://'.length)}, and read other buckets with a client of Cloud Storage.`,
      });
    }
  }
}
