import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { describeError } from '#cli/core/failure.ts';

/** Size at which the log is rotated. One rotated file is kept, so the log uses at most twice this on disk. */
const LOG_BYTES_MAX = 16 * 2 ** 20;
const FIELD_CHARACTERS_MAX = 200;

export const LOG_FILE = 'functions.jsonl';
export const ROTATED_LOG_FILE = 'functions.old.jsonl';

/** The log of the embedded cloud's functions: JSON lines in the data directory. */
export type FunctionsLog = {
  readonly path: string;
  readonly write: (line: string) => void;
};

/**
 * Appends to `functions.jsonl` in the data directory, not in the directory of job logs, because a job can be named
 * `functions`. Calls `onProblem` with one line of text per warning, error, or failed write.
 */
export function openFunctionsLog(
  dataDir: string,
  { onProblem, bytesMax = LOG_BYTES_MAX }: { readonly onProblem: (line: string) => void; readonly bytesMax?: number },
): FunctionsLog {
  const path = join(dataDir, LOG_FILE);
  mkdirSync(dataDir, { recursive: true });
  let sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let lastUsage = '';

  function append(entry: Entry): void {
    // On Google Cloud, Cloud Logging adds the time (docs, "Structured logging").
    const line = `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`;
    if (sizeBytes >= bytesMax) {
      renameSync(path, join(dataDir, ROTATED_LOG_FILE));
      sizeBytes = 0;
    }
    appendFileSync(path, line);
    sizeBytes += Buffer.byteLength(line);
  }

  return {
    path,
    write(line) {
      const entry = entrySchema.parse(JSON.parse(line));
      if (entry.kind === 'usage') {
        // A tick each second would leave no room for what happened. Each has a trace of its own.
        const usage = JSON.stringify([entry.vms, entry.usdPerHour, entry.unpricedVms]);
        if (usage === lastUsage) {
          return;
        }
        lastUsage = usage;
      }
      try {
        append(entry);
      } catch (error) {
        // A failed log write must not fail the function.
        onProblem(`warning: ${path} cannot be written (${describeError(error)}): ${line}`);
      }
      const problem = summarizeProblem(entry);
      if (problem !== null) {
        onProblem(problem);
      }
    },
  };
}

/** Stacks span many lines, and what Google's services read repeats the other fields. */
const IN_FILE_ONLY = /^(?:stack_trace|causes|kind|@type|serviceContext|logging\.googleapis\.com\/.*)$/;

const entrySchema = z.looseObject({ severity: z.string(), message: z.string() });
type Entry = z.infer<typeof entrySchema>;

/**
 * Formats a warning or error as `warning: delivery failed (topic provision, problem 503)`; null for other severities.
 */
function summarizeProblem({ severity, message, ...fields }: Entry): string | null {
  if (severity !== 'WARNING' && severity !== 'ERROR') {
    return null;
  }
  const details = Object.entries(fields)
    .filter(([name, value]) => !IN_FILE_ONLY.test(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${shorten(typeof value === 'string' ? value : JSON.stringify(value))}`);
  return `${severity.toLowerCase()}: ${message}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= FIELD_CHARACTERS_MAX ? line : `${line.slice(0, FIELD_CHARACTERS_MAX)}…`;
}
