import { createHash } from 'node:crypto';
import { clip } from '#shared/domain/job-size.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { JOB_UPDATE_SCHEMA_VERSION, REFUSED_STATE, type UploadRefused } from '#shared/protocol/job-update.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { ReportedSubmission } from '#shared/use-cases/intake/reported-submission.ts';

/** The report has all problems; the message has the first ones, and stays below JOB_UPDATE_BYTES_MAX. */
const PROBLEMS_COUNT_MAX = 5;
const PROBLEM_BYTES_MAX = 1 << 10;
const URI_BYTES_MAX = 2 << 10;
const JOB_ID_CHARACTERS_MAX = 128;

type Refusal = { readonly jobId: string | null; readonly problems: readonly Problem[] };

/** Publishes on the topic `job-updates` that a submission was refused; every delivery publishes the same message. */
export async function publishRefusal(
  { bus }: { readonly bus: MessageBus },
  { source, reportObject, generation = '' }: ReportedSubmission,
  { jobId, problems }: Refusal,
): Promise<void> {
  const message: UploadRefused = {
    type: 'UPLOAD_REFUSED',
    schemaVersion: JOB_UPDATE_SCHEMA_VERSION,
    uploadId: createHash('sha256').update(`${source}\n${generation}`).digest('hex').slice(0, 32),
    // The id is as written, and may be invalid: that may be the problem.
    jobId: jobId?.slice(0, JOB_ID_CHARACTERS_MAX) ?? null,
    state: REFUSED_STATE,
    source: clip(source, URI_BYTES_MAX),
    report: clip(toGsUri(reportObject), URI_BYTES_MAX),
    problems: problems.slice(0, PROBLEMS_COUNT_MAX).map((problem) => ({
      code: problem.code,
      message: clip(problem.message, PROBLEM_BYTES_MAX),
      remedy: clip(problem.remedy, PROBLEM_BYTES_MAX),
    })),
    problemCount: problems.length,
  };
  const attributes = { type: message.type, state: message.state };
  const valid = message.jobId !== null && JOB_ID_PATTERN.test(message.jobId) ? attributesOf(message.jobId) : {};
  await bus.publish('job-updates', message, { ...attributes, ...valid });
}
