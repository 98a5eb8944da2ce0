import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { describeError } from '#cli/core/failure.ts';

/** The log is set aside when it reaches this size, and replaces the one that was set aside before: twice this on disk. */
const LOG_BYTES_MAX = 16 * 2 ** 20;
const FIELD_CHARACTERS_MAX = 200;

/** What the functions of an embedded cloud log, as JSON lines in its data directory. */
export type FunctionsLog = {
  readonly path: string;
  readonly write: (line: string) => void;
};

/**
 * Appends to `functions.jsonl`, beside the logs of the jobs and not among them: a job may be called `functions`, too.
 * `onTrouble` is told of warnings and errors, one readable line each, and of a file that cannot be written.
 */
export function openFunctionsLog(
  dataDir: string,
  { onTrouble, bytesMax = LOG_BYTES_MAX }: { readonly onTrouble: (line: string) => void; readonly bytesMax?: number },
): FunctionsLog {
  const path = join(dataDir, 'functions.jsonl');
  mkdirSync(dataDir, { recursive: true });
  let sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;

  function append(entry: Entry): void {
    // Cloud Logging would add the time itself (docs "Structured logging").
    const line = `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`;
    if (sizeBytes >= bytesMax) {
      renameSync(path, join(dataDir, 'functions.old.jsonl'));
      sizeBytes = 0;
    }
    appendFileSync(path, line);
    sizeBytes += Buffer.byteLength(line);
  }

  return {
    path,
    write(line) {
      const entry = entrySchema.parse(JSON.parse(line));
      try {
        append(entry);
      } catch (error) {
        // A function must not fail because its log cannot be written.
        onTrouble(`warning: ${path} cannot be written (${describeError(error)}): ${line}`);
      }
      const trouble = describeTrouble(entry);
      if (trouble !== null) {
        onTrouble(trouble);
      }
    },
  };
}

const entrySchema = z.looseObject({ severity: z.string(), message: z.string() });
type Entry = z.infer<typeof entrySchema>;

/** `warning: delivery failed (topic provision, problem 503)`; null for what is no trouble. */
function describeTrouble({ severity, message, ...fields }: Entry): string | null {
  if (severity !== 'WARNING' && severity !== 'ERROR') {
    return null;
  }
  // A stack is of many lines: it is in the file.
  const facts = Object.entries(fields)
    .filter(([name, value]) => name !== 'stack' && value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${shorten(typeof value === 'string' ? value : JSON.stringify(value))}`);
  return `${severity.toLowerCase()}: ${message}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= FIELD_CHARACTERS_MAX ? line : `${line.slice(0, FIELD_CHARACTERS_MAX)}…`;
}
