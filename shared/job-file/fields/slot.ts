import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import { type JobDraft, masterOf, type PoolDraft, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

/** A part of the draft that one field is read into. */
export type Slot<T> = {
  readonly get: (draft: JobDraft) => T;
  readonly set: (draft: JobDraft, value: T) => JobDraft;
};

/** A property of the job. */
export function inJob<Key extends keyof JobDraft>(key: Key): Slot<JobDraft[Key]> {
  return { get: (draft) => draft[key], set: (draft, value) => ({ ...draft, [key]: value }) };
}

/** A property of the master's pool. */
export function inMaster<Key extends keyof PoolDraft>(key: Key): Slot<PoolDraft[Key]> {
  return { get: (draft) => masterOf(draft)[key], set: (draft, value) => withMaster(draft, { [key]: value }) };
}

/** A property of the program: the master's, which all pools run that have no program of their own. */
export function inProgram<Key extends keyof ProgramDraft>(key: Key): Slot<ProgramDraft[Key]> {
  return {
    get: (draft) => masterOf(draft).program[key],
    set: (draft, value) => withMaster(draft, { program: { ...masterOf(draft).program, [key]: value } }),
  };
}

/** A scalar option of the program that JobSpec and the VM's configuration carry under the same name. */
export function inProgramOptions<Key extends keyof ProgramOptions>(
  key: Key,
): Slot<Located<NonNullable<ProgramOptions[Key]>> | undefined> {
  return {
    get: (draft) => draft.programOptions[key],
    set: (draft, value) => ({ ...draft, programOptions: { ...draft.programOptions, [key]: value } }),
  };
}

/** The draft with some properties of the master's pool changed. */
export function withMaster(draft: JobDraft, change: Partial<PoolDraft>): JobDraft {
  const [, ...others] = draft.pools;
  return { ...draft, pools: [{ ...masterOf(draft), ...change }, ...others] };
}
