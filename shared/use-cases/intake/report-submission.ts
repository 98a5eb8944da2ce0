import { readSubmitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { Report } from '#shared/protocol/report.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { publishRefusal } from '#shared/use-cases/intake/publish-refusal.ts';
import type { ReportedSubmission } from '#shared/use-cases/intake/reported-submission.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { updateReport } from '#shared/use-cases/intake/update-report.ts';

/**
 * Writes the outcome of a submission to its report. The report of an accepted job is written by its own job updates;
 * only a report about something else is replaced at once. A refusal is announced on the topic `job-updates`, after its
 * report: if this process dies in between, the redelivery writes the same report and announces it.
 */
export async function reportSubmission(
  ports: SubmitPorts,
  submission: ReportedSubmission,
  outcome: SubmitOutcome,
): Promise<void> {
  const { reportObject, generation } = submission;
  const acceptedJobId = outcome.verdict === 'ACCEPTED' ? outcome.jobId : null;
  const isWritten = await updateReport(ports.objects, { reportObject, generation, acceptedJobId }, async (current) => {
    const isAccepted = current?.verdict === 'ACCEPTED';
    const isKept =
      acceptedJobId === null
        ? // A redelivery does not take an acceptance back, even if a package of the job is gone by now.
          isAccepted && current.generation === generation
        : current === undefined || (isAccepted && current.jobId === acceptedJobId);
    return isKept ? null : reportOf(submission, outcome);
  });
  if (isWritten && outcome.verdict === 'REFUSED') {
    await publishRefusal(ports, submission, outcome);
  }
  const submitted = isWritten && acceptedJobId !== null ? await readSubmitted(ports, acceptedJobId) : undefined;
  if (submitted !== undefined) {
    // It may have been accepted long ago, and publish no further updates of its own.
    await ports.updates.publish(updateOf(submitted));
  }
}

/**
 * Throws if the same submission may be accepted in a few minutes, so that its message is redelivered. The report says
 * so meanwhile; another job file of the same upload is submitted again with it, and finds its job.
 */
export function redeliverIfTransient(outcome: SubmitOutcome): void {
  if (outcome.verdict !== 'ACCEPTED' && outcome.isTransient) {
    throw new Error(`${outcome.problems[0]?.message} The message is redelivered.`);
  }
}

function reportOf({ source }: ReportedSubmission, outcome: SubmitOutcome): Report {
  const { verdict, jobId } = outcome;
  const { problems, warnings } = verdict === 'ACCEPTED' ? { problems: [], warnings: [] } : outcome;
  return { verdict, source, jobId, problems: [...problems], warnings: [...warnings], job: null };
}
