import { isDeepStrictEqual } from 'node:util';
import { OFFLINE_CONTEXT } from '#cli/submit/job-file.ts';
import { type JobFileValidation, validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { KNOWN_DISAGREEMENTS } from './known-disagreements.ts';
import type { CorpusJobFile } from './read-corpus.ts';

export type Disagreement = {
  readonly file: string;
  readonly what: 'verdict' | 'cluster' | 'trials';
  readonly expected: unknown;
  readonly actual: unknown;
  /** The problems that either reader found in the file. */
  readonly reasons: readonly string[];
  /** Why the expected value is considered wrong; undefined if there is no explanation. */
  readonly explanation: string | undefined;
};

/** Compares verdicts, clusters and trials with those of an independent reader; returns the differences. */
export function compareCorpus(jobFiles: readonly CorpusJobFile[]): readonly Disagreement[] {
  return jobFiles.flatMap((jobFile) => {
    const validation = validateJobFile(jobFile.bytes, { fileName: jobFile.file, context: OFFLINE_CONTEXT });
    return compare(jobFile, validation);
  });
}

function compare(jobFile: CorpusJobFile, validation: JobFileValidation): readonly Disagreement[] {
  const { file, verdict, why, cluster, trials } = jobFile;
  const reasons = [...why, ...validation.errors.map(({ code, path, message }) => `${code} ${path ?? ''} ${message}`)];
  const pairs = [
    { what: 'verdict', expected: verdict, actual: validation.verdict },
    { what: 'cluster', expected: cluster, actual: validation.cluster },
    { what: 'trials', expected: trials ?? null, actual: validation.trials },
  ] as const;
  return pairs
    .filter(({ expected, actual }) => !isDeepStrictEqual(expected, actual))
    .map((pair) => ({ file, ...pair, reasons, explanation: KNOWN_DISAGREEMENTS[`${file} ${pair.what}`] }));
}
