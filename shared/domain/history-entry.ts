import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import type { Stated } from '#shared/domain/stated.ts';

const timestamp = z.int();
const count = z.int().min(0);

/** One entry of the history of a job or tuning: what an event did to it. */
const historyEntrySchema = z.object({
  at: timestamp,
  /** The type of the event; SUBMITTED for the creation. */
  event: z.string(),
  /** The status before, and that after: of a closed record, how it ended. Null before the creation. */
  from: z.string().nullable(),
  to: z.string(),
  /** When `from` was entered; null if that is not known. */
  since: timestamp.nullable(),
  /** The attempt and round in which it happened; 0 of a tuning. */
  attempt: count,
  placementRound: count,
  zone: z.string().nullable(),
  cause: causeSchema.shape.code.nullable(),
  /** Who asked for it; null if no user did, or it is not known. */
  by: z.string().nullable(),
  /** The replica that the event is about; absent if it is about the whole job. */
  replica: z.string().optional(),
});

export type HistoryEntry = Stated<typeof historyEntrySchema>;

/** Oldest first. */
export const historySchema = z.array(historyEntrySchema);
