import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

/** An address of a server, without a password. */
const REMOTE = /^(?:(?:https?|git):\/\/|ssh:\/\/(?:[\w.-]+@)?|[\w.-]+@[\w.-]+:)[\w.~:/+%-]{1,300}$/;

/** The commit of the folder that was packed, as its client states it; a remote with another address is null. */
export const gitCommitSchema = z.object({
  commit: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/),
  remote: z.string().regex(REMOTE).nullable().catch(null),
  /** Whether files of the folder differ from the commit. */
  isDirty: z.boolean(),
});
export type GitCommit = Stated<typeof gitCommitSchema>;
