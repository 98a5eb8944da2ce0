import type { Problem } from '#shared/protocol/problem.ts';
import {
  type Accepted,
  type AcceptPorts,
  acceptSubmission,
  findAcceptProblem,
} from '#shared/use-cases/intake/accept-submission.ts';
import { checkSubmission, type Submission, type SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import type { CheckPorts } from '#shared/use-cases/intake/checks/check.ts';

export type SubmitPorts = AcceptPorts & CheckPorts;

/**
 * Why `submitJob` would not accept the submission as a new one; null if it would. Creates nothing. A concurrent
 * submission can still take the job id.
 */
export async function findRefusal(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome | null> {
  const checked = await checkSubmission(ports, submission);
  if ('outcome' in checked) {
    return checked.outcome;
  }
  const { accepted } = checked;
  const problem = await findAcceptProblem(ports, accepted);
  return problem === null ? null : refusalOf(accepted, problem);
}

/**
 * Validates a submission and creates its job or tuning: specification, packages, then one commit of it and its outbox
 * entries. A repeated submission finds the existing job; a different one with the same job id is rejected.
 */
export async function submitJob(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  const checked = await checkSubmission(ports, submission);
  if ('outcome' in checked) {
    return checked.outcome;
  }
  const { accepted } = checked;
  const { jobId } = accepted.spec;
  const outcome = await acceptSubmission(ports, accepted);
  return outcome === 'ACCEPTED' ? { verdict: 'ACCEPTED', jobId } : refusalOf(accepted, outcome);
}

function refusalOf({ spec, warnings }: Accepted, problem: Problem): SubmitOutcome {
  return { verdict: 'REFUSED', jobId: spec.jobId, problems: [problem], warnings };
}
