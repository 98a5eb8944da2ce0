import type { JobDefinition } from '#shared/protocol/job-definition.ts';

/** The submission of a clone. */
export type CloneDraft = JobDefinition['repetition']['submission'];

/** The flags with the name and the job directory follow the job id, which overrides that of the job file. */
export function renamed(draft: CloneDraft, next: string): CloneDraft {
  const rename = (flag: string) =>
    /^--(display-name|job-dir)=/.test(flag) && new RegExp(`[=/]${draft.jobId}$`).test(flag)
      ? `${flag.slice(0, -draft.jobId.length)}${next}`
      : flag;
  return { ...draft, jobId: next, flags: draft.flags.map(rename) };
}
