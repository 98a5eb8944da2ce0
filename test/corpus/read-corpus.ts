import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';

/** Job files and command lines that other people wrote. They may lie beside the checkout and are never copied into it. */
const CORPUS = new URL('../../../shared/corpus/', import.meta.url);

/** Excerpts of logs that other people published, with labels; treated like the corpus. */
const FAILURES = new URL('../../../shared/failures-visible.jsonl', import.meta.url);

const jobFileSchema = z.object({
  file: z.string(),
  kind: z.string(),
  /** Whether it has placeholders; the expected values assume that they are filled in. */
  templated: z.boolean(),
  verdict: z.enum(['valid', 'invalid']),
  why: z.array(z.string()),
  cluster: z.record(z.string(), z.array(z.unknown())).nullable(),
  trials: z.object({ max: z.number().nullable(), parallel: z.number().nullable() }).optional(),
});

export type CorpusJobFile = z.infer<typeof jobFileSchema> & { readonly bytes: Uint8Array };

export type Corpus = {
  readonly jobFiles: readonly CorpusJobFile[];
  /** As in scripts, on one line: `gcloud ai-platform jobs submit training $JOB …`. */
  readonly commandLines: readonly string[];
};

/** Reads the corpus; null if it is not beside the checkout. */
export function readCorpus(): Corpus | null {
  return existsSync(CORPUS) ? { jobFiles: readJobFiles(), commandLines: readCommandLines() } : null;
}

/** The file of labeled excerpts; null if it is not beside the checkout. */
export function findLabeledFailures(): URL | null {
  return existsSync(FAILURES) ? FAILURES : null;
}

function readJobFiles(): readonly CorpusJobFile[] {
  return readLines('job-files/INDEX.jsonl').map((line) => {
    const entry = jobFileSchema.parse(JSON.parse(line));
    return { ...entry, bytes: readFileSync(new URL(`job-files/${entry.file}`, CORPUS)) };
  });
}

function readCommandLines(): readonly string[] {
  return readLines('submit-commands.tsv').map((line) => line.split('\t')[0] ?? '');
}

function readLines(path: string): readonly string[] {
  return readFileSync(new URL(path, CORPUS), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}
