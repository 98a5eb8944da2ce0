import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

const changeSchema = z.object({
  jobId: z.string(),
  /** RECORD: the job or tuning itself, or the job of a trial. HEARTBEAT: what one of its VMs reported. */
  kind: z.enum(['RECORD', 'HEARTBEAT']),
  /** Differs from that of every other change of this job and kind. */
  version: z.string(),
});
export type Change = Stated<typeof changeSchema>;
export type ChangeKind = Change['kind'];

export const changesSchema = z.object({
  /** May repeat a change of an earlier answer, with the same version. */
  changes: z.array(changeSchema),
  /** Whether anything may have changed: the marker is missing, too old or of another database, or too much changed. */
  isEverything: z.boolean(),
  /** The position after this answer, from which the next one continues. */
  marker: z.string(),
  /** How long to wait before the next request. */
  pollAfterMs: z.number(),
});
export type Changes = Stated<typeof changesSchema>;

/** Lists which jobs and tunings changed, at a cost that depends on the changes alone, not on the jobs there are. */
export type ChangeFeed = {
  /** Lists what changed after the answer with this marker; with a job id, of this job or tuning only. */
  list(query: { readonly marker: string | undefined; readonly jobId?: string | undefined }): Promise<Changes>;
};

/** Above it, an answer says that everything may have changed. */
export const CHANGES_MAX = 100;
