import { reachesOtherUsers } from '#shared/domain/user-folder.ts';

/** What members do with a job that says more than its state, or changes it. */
export const GUARDED_ACTIONS = ['CANCEL', 'OPEN_SHELL', 'READ_LOGS', 'READ_FILES', 'READ_DEFINITION'] as const;

export type GuardedAction = (typeof GUARDED_ACTIONS)[number];

/** Who calls the API; the e-mail address is null unless a signature proves it. */
export type Caller = {
  readonly email: string | null;
  /** Why a given proof was not accepted, as the end of a sentence. */
  readonly problem?: string | undefined;
};

export type AccessPolicy = {
  /** Whether these actions are for the submitter of a job and for operators; otherwise all members share all jobs. */
  readonly onlyOwnJobs: boolean;
  /** E-mail addresses. */
  readonly operators: readonly string[];
};

/** All members do everything with all jobs. */
export const SHARED_ACCESS: AccessPolicy = { onlyOwnJobs: false, operators: [] };

/** The part of a job or tuning that decides. */
export type Owned = {
  readonly source: { readonly submittedBy: string | null };
  readonly spec: { readonly jobDir: string };
};

export type AccessDecision =
  | { readonly isAllowed: true }
  | { readonly isAllowed: false; readonly reason: DenialReason };

export type DenialReason = 'CALLER_UNKNOWN' | 'OWNER_UNKNOWN' | 'OTHER_OWNER' | 'OTHER_DIRECTORY';

/** Whether a caller may do with a job what its submitter and operators may. */
export function decideAccess(caller: Caller, { source, spec }: Owned, policy: AccessPolicy): AccessDecision {
  if (!policy.onlyOwnJobs) {
    return { isAllowed: true };
  }
  if (caller.email === null) {
    return { isAllowed: false, reason: 'CALLER_UNKNOWN' };
  }
  const email = caller.email.toLowerCase();
  if (policy.operators.some((operator) => operator.toLowerCase() === email)) {
    return { isAllowed: true };
  }
  if (source.submittedBy === null) {
    return { isAllowed: false, reason: 'OWNER_UNKNOWN' };
  }
  if (source.submittedBy.toLowerCase() !== email) {
    return { isAllowed: false, reason: 'OTHER_OWNER' };
  }
  // Intake refuses this; but a job can have been submitted before the deployment restricted anything.
  return reachesOtherUsers(spec.jobDir, email) ? { isAllowed: false, reason: 'OTHER_DIRECTORY' } : { isAllowed: true };
}
