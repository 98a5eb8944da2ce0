import { type AcceptPorts, acceptSubmission, findAcceptProblem } from '#shared/use-cases/intake/accept-submission.ts';
import { checkSubmission, type Submission, type SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import type { CheckPorts } from '#shared/use-cases/intake/checks/check.ts';

export type SubmitPorts = AcceptPorts & CheckPorts;

/**
 * The outcome that `submitJob` would have if the submission is a new one. Creates nothing. A concurrent submission can
 * still take the job id.
 */
export async function trySubmission(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  return submit(ports, submission, findAcceptProblem);
}

/**
 * Validates a submission and creates its job or tuning: specification, packages, then one commit of it and its outbox
 * entries. A repeated submission finds the existing job; a different one with the same job id is rejected.
 */
export async function submitJob(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  return submit(ports, submission, acceptSubmission);
}

async function submit(
  ports: SubmitPorts,
  submission: Submission,
  accept: typeof acceptSubmission,
): Promise<SubmitOutcome> {
  const checked = await checkSubmission(ports, submission);
  if ('outcome' in checked) {
    return checked.outcome;
  }
  const { spec, warnings } = checked.accepted;
  const { jobId } = spec;
  const problem = await accept(ports, checked.accepted);
  return problem === null
    ? { verdict: 'ACCEPTED', jobId }
    : { verdict: 'REFUSED', jobId, problems: [problem], warnings };
}
