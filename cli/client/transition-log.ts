import { open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { LOG_FILE, ROTATED_LOG_FILE } from '#cli/client/functions-log.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Limit on what one call reads of a file. */
const READ_BYTES_MAX = 4 * 2 ** 20;

const transitionSchema = z.looseObject({
  kind: z.literal('transition'),
  time: z.string(),
  jobId: z.string(),
  event: z.string(),
  from: z.string().nullable(),
  to: z.string(),
  attempt: z.int().optional(),
  zone: z.string().nullish(),
  cause: z.string().nullable(),
  inStateMs: z.number().nullable(),
  by: z.string().nullable(),
  replica: z.string().optional(),
  /** False if the event only had a waiting job re-checked: a queue of jobs would leave no room for other lines. */
  isInHistory: z.literal(true).optional(),
});

export type LoggedTransition = z.infer<typeof transitionSchema>;

/** Whole lines of a file; `end` is the beginning of the next one. */
type Part = { readonly inode: number; readonly end: number; readonly text: string };

/**
 * Returns a function that reads the transitions of the functions' log: first the last ones, then at each call those
 * that were written since, also those of the file that was rotated meanwhile. It reads at most READ_BYTES_MAX of each
 * file. Lines that are not transitions of this form, or in no history, are left out.
 */
export function openTransitionLog(dataDir: string): () => Promise<readonly LoggedTransition[]> {
  let known: Part | undefined;
  return async () => {
    const current = await readAfter(known, join(dataDir, LOG_FILE));
    const isSameFile = known !== undefined && current?.inode === known.inode;
    const rotated = isSameFile ? undefined : await readAfter(known, join(dataDir, ROTATED_LOG_FILE));
    const isOfRotated = known === undefined || known.inode === rotated?.inode;
    known = current ?? known;
    return parseTransitions(`${isOfRotated ? (rotated?.text ?? '') : ''}${current?.text ?? ''}`);
  };
}

/** The lines after what is known of this file; if nothing is known, its last ones. Undefined if there is no file. */
async function readAfter(known: Part | undefined, path: string): Promise<Part | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) {
    return undefined;
  }
  try {
    const { ino: inode, size } = await file.stat();
    const start = known === undefined ? Math.max(0, size - READ_BYTES_MAX) : known.inode === inode ? known.end : 0;
    const buffer = Buffer.alloc(Math.max(0, Math.min(size - start, READ_BYTES_MAX)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    // The last line may be incomplete.
    const length = buffer.lastIndexOf('\n', bytesRead - 1) + 1;
    return { inode, end: start + length, text: buffer.toString('utf8', 0, length) };
  } finally {
    await file.close();
  }
}

function parseTransitions(text: string): readonly LoggedTransition[] {
  return text.split('\n').flatMap((line) => {
    const { success, data } = transitionSchema.safeParse(line.includes('"transition"') ? parseJson(line) : undefined);
    return success ? [data] : [];
  });
}
