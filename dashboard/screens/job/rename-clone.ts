import type { JobDefinition } from '#shared/protocol/job-definition.ts';

/** The submission of a clone. */
export type CloneDraft = JobDefinition['repetition']['submission'];

/** The flags with the name and the job directory follow the job id, which overrides that of the job file. */
export function renamed(draft: CloneDraft, next: string): CloneDraft {
  const rename = (flag: string) => {
    const isNamed = flag.endsWith(`=${draft.jobId}`) || flag.endsWith(`/${draft.jobId}`);
    return isNamed && /^--(display-name|job-dir)=/.test(flag)
      ? `${flag.slice(0, flag.length - draft.jobId.length)}${next}`
      : flag;
  };
  return { ...draft, jobId: next, flags: draft.flags.map(rename) };
}
