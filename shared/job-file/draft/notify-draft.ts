import type { Located } from '#shared/job-file/parser/findings.ts';

/** Where and when a job notifies, as it is written. */
export type NotifyDraft = {
  readonly channels?: readonly Located<string>[] | undefined;
  readonly states?: readonly Located<string>[] | undefined;
};
