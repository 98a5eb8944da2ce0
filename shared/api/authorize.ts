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

/** Identifies the caller of every request, for `callerOf` and `authorize`. */
export function identifyCallers(app: Hono, { policy, identifyCaller }: Access = SHARED): void {
  app.use('/v1/*', async (context, next) => {
    const known: Known = { policy, caller: await identifyCaller(context.req.raw.headers) };
    context.set('access', known);
    await next();
  });
}

/** The caller of a request; the e-mail address is null unless a signature proves it. */
export function callerOf(context: Context): Caller {
  return knownOf(context).caller;
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
    throw denialOf(job, { action, reason: decision.reason });
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
  PROFILE: 'profile it',
  READ_LOGS: 'read its log',
  READ_FILES: 'read its files',
  READ_DEFINITION: 'read its definition',
};

function denialOf(
  job: Owned & NamedJob,
  { action, reason }: { readonly action: GuardedAction; readonly reason: DenialReason },
) {
  const jobId = 'tuningId' in job ? job.tuningId : job.jobId;
  const owner = job.source.submittedBy;
  const message = {
    CALLER_UNKNOWN: `Only the submitter of job ${jobId} and operators may ${ACTIONS[action]}, and the request does not prove whose it is.`,
    OWNER_UNKNOWN: `The submitter of job ${jobId} is not known, as it was not submitted through the API: only operators may ${ACTIONS[action]}.`,
    OTHER_OWNER: `Job ${jobId} belongs to ${owner}: only they and operators may ${ACTIONS[action]}.`,
  }[reason];
  const remedy =
    reason === 'CALLER_UNKNOWN'
      ? 'Use the command line, or the page through `dropforge dashboard` or Identity-Aware Proxy.'
      : `Ask ${owner === null ? '' : 'them or '}an operator of the deployment (Terraform's access.operators).`;
  return errorResponse(403, message, remedy);
}
