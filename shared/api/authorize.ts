import type { Context, Hono } from 'hono';
import { errorResponse } from '#shared/api/request.ts';
import {
  type AccessPolicy,
  type Caller,
  type DenialReason,
  decideAccess,
  type GuardedAction,
  type Owned,
  SHARED_ACCESS,
} from '#shared/domain/access.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { Viewing } from '#shared/use-cases/reports/view-submitted.ts';

/** Reads the caller of a request from signed headers. Throws if the issuer's keys cannot be fetched. */
export type IdentifyCaller = (headers: Headers) => Promise<Caller>;

export type Access = { readonly policy: AccessPolicy; readonly identifyCaller: IdentifyCaller };

/** Every caller whom the deployment lets call the API shares all jobs. */
const SHARED: Access = { policy: SHARED_ACCESS, identifyCaller: async () => ({ email: null }) };

type Known = { readonly caller: Caller; readonly policy: AccessPolicy };

declare module 'hono' {
  interface ContextVariableMap {
    access: Known;
  }
}

/**
 * Identifies the caller of every request that can be denied or that changes something. Where nothing is denied, a
 * failure to do so does not end the request.
 */
export function identifyCallers(app: Hono, { policy, identifyCaller }: Access = SHARED): void {
  app.use('/v1/*', async (context, next) => {
    const { method, raw } = context.req;
    const isNeeded = policy.onlyOwnJobs || !['GET', 'HEAD'].includes(method);
    const caller = isNeeded ? identifyCaller(raw.headers) : Promise.resolve({ email: null });
    const known = policy.onlyOwnJobs ? caller : caller.catch(() => ({ email: null }));
    context.set('access', { policy, caller: await known });
    await next();
  });
}

/**
 * The caller of a request that changes something, or of any request if a policy restricts callers; the e-mail address
 * is null unless a signature proves it.
 */
export function callerOf(context: Context): Caller {
  return knownOf(context).caller;
}

/**
 * As `callerOf`. Throws the answer 403 if the deployment restricts callers and this one is unknown: what it started
 * would belong to no member.
 */
export function knownCallerOf(context: Context): Caller {
  const { caller, policy } = knownOf(context);
  if (policy.onlyOwnJobs && caller.email === null) {
    const message = `Members of this deployment have their own jobs, and ${caller.problem ?? UNPROVEN}.`;
    throw errorResponse(403, message, PROOF_REMEDY);
  }
  return caller;
}

/** Whether `authorize` may deny something. */
export function isRestricted(context: Context): boolean {
  return knownOf(context).policy.onlyOwnJobs;
}

/**
 * Throws the answer 403, with the job's owner and who else may, if the deployment restricts the action to the job's
 * submitter and operators, and the caller is neither. Call it before anything of the job is read or changed.
 */
export function authorize(context: Context, job: Owned & NamedJob, action: GuardedAction): void {
  const { caller, policy } = knownOf(context);
  const decision = decideAccess(caller, job, policy);
  if (!decision.isAllowed) {
    throw denialOf(job, caller, { action, reason: decision.reason });
  }
}

/** A job or a tuning. */
type NamedJob = { readonly jobId: string } | { readonly tuningId: string };

function knownOf(context: Context): Known {
  return context.get('access');
}

const ACTIONS: Readonly<Record<GuardedAction, string>> = {
  CANCEL: 'cancel it',
  OPEN_SHELL: 'open a shell in it',
  READ_LOGS: 'read its log',
  READ_FILES: 'read its files',
  READ_DEFINITION: 'read its definition',
};

const UNPROVEN = 'the request proves no identity';
const PROOF_REMEDY =
  'Use the command line, or the page through `dropforge dashboard` or Identity-Aware Proxy (docs/own-jobs.md).';

function denialOf(
  job: Owned & NamedJob,
  { problem = UNPROVEN }: Caller,
  { action, reason }: { readonly action: GuardedAction; readonly reason: DenialReason },
) {
  const jobId = 'tuningId' in job ? job.tuningId : job.jobId;
  const owner = job.source.submittedBy;
  const message = {
    CALLER_UNKNOWN: `Only the submitter of job ${jobId} and operators may ${ACTIONS[action]}, and ${problem}.`,
    OWNER_UNKNOWN: `The submitter of job ${jobId} is not known: only operators may ${ACTIONS[action]}.`,
    OTHER_DIRECTORY: `The directory of job ${jobId} holds files of other users: only operators may ${ACTIONS[action]}.`,
    OTHER_OWNER: `Job ${jobId} belongs to ${owner}: only they and operators may ${ACTIONS[action]}.`,
  }[reason];
  const remedy =
    reason === 'CALLER_UNKNOWN'
      ? PROOF_REMEDY
      : `Ask ${owner === null ? '' : 'them or '}an operator of the deployment (Terraform's variable operators).`;
  return errorResponse(403, message, remedy);
}

/** What of a job or tuning the caller sees, now. */
export function viewingOf(context: Context, job: Owned, now: TimestampMs): Viewing {
  return { now, restriction: restrictionOf(context, job) };
}

/**
 * Why the caller may not do with a job what its submitter may, as one sentence; null if nothing is denied. Views have
 * it, so that the page offers nothing that is denied.
 */
export function restrictionOf(context: Context, job: Owned): string | null {
  const { caller, policy } = knownOf(context);
  const decision = decideAccess(caller, job, policy);
  if (decision.isAllowed) {
    return null;
  }
  const who = {
    OTHER_OWNER: `This job belongs to ${job.source.submittedBy}: only they and operators`,
    OTHER_DIRECTORY: 'The directory of this job holds files of other users: only operators',
    OWNER_UNKNOWN: 'The submitter of this job is not known: only operators',
  };
  return decision.reason === 'CALLER_UNKNOWN'
    ? 'Your requests do not prove who you are: open the page with `dropforge dashboard`, or through Identity-Aware Proxy.'
    : `${who[decision.reason]} may change it or read its log and files.`;
}
