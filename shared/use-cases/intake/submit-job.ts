import { type AcceptPorts, acceptJob, acceptTuning } from '#shared/use-cases/intake/accept-submission.ts';
import {
  type CheckPorts,
  checkSubmission,
  type Submission,
  type SubmitOutcome,
} from '#shared/use-cases/intake/check-submission.ts';

export type SubmitPorts = AcceptPorts & CheckPorts;

/**
 * Validates a submission and creates its job or tuning: specification, packages, then one commit of it and its outbox
 * entries. A repeated submission finds the existing job; a different one with the same job id is rejected.
 */
export async function submitJob(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  const checked = await checkSubmission(ports, submission);
  if ('outcome' in checked) {
    return checked.outcome;
  }
  const { accepted, resumed } = checked;
  const { jobId } = accepted.spec;
  const outcome = resumed === null ? await acceptJob(ports, accepted) : await acceptTuning(ports, accepted, resumed);
  return outcome === 'ACCEPTED'
    ? { verdict: 'ACCEPTED', jobId }
    : { verdict: 'REFUSED', jobId, problems: [outcome], warnings: accepted.warnings };
}
