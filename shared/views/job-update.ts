import type { JobUpdate } from '#shared/domain/effect.ts';
import { clip, clipLines } from '#shared/domain/job-size.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import { type Submitted, updateOf } from '#shared/ports/read-submitted.ts';
import { JOB_UPDATE_SCHEMA_VERSION, type JobSnapshot, type JobUpdateMessage } from '#shared/protocol/job-update.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { viewCause, viewJob } from '#shared/views/job-view.ts';
import { viewTuning } from '#shared/views/tuning-view.ts';

/** Limits on the texts of a message, in bytes of JSON: together with the labels they stay below JOB_UPDATE_BYTES_MAX. */
const MESSAGE_BYTES_MAX = 2 << 10;
const EVIDENCE_BYTES_MAX = 4 << 10;
const EVIDENCE_LINES_MAX = 10;
const URI_BYTES_MAX = 2 << 10;

/** The settings of a deployment for its messages. */
export type UpdateSettings = {
  /** The address of the page, for links to it; undefined if the deployment has none. */
  readonly pageUrl?: string | undefined;
};

/** A message with the attributes by which subscriptions are filtered. */
export type AttributedMessage<Message> = {
  readonly message: Message;
  readonly attributes: Readonly<Record<string, string>>;
};

/**
 * The message about a committed update. Its snapshot is of the job as it is now, when the message is published; it is
 * left out if the job has another state or attempt by now, or does not exist.
 */
export function messageOfUpdate(
  update: JobUpdate,
  submitted: Submitted | undefined,
  { pageUrl }: UpdateSettings,
): AttributedMessage<JobUpdateMessage> {
  const { jobId, state, attempt } = update;
  const message = { type: 'JOB_UPDATE' as const, schemaVersion: JOB_UPDATE_SCHEMA_VERSION, jobId, state, attempt };
  const attributes = { ...attributesOf(jobId), type: message.type, state, attempt: String(attempt) };
  const now = submitted && updateOf(submitted);
  if (submitted === undefined || now?.state !== state || now.attempt !== attempt) {
    return { message: { ...message, job: null }, attributes };
  }
  const job = snapshotOf(submitted, pageUrl);
  return {
    message: { ...message, job },
    attributes: {
      ...attributes,
      kind: job.kind,
      ...(job.tuningId !== null && { tuningId: job.tuningId }),
      ...(job.cause !== null && { cause: job.cause.code }),
      ...(job.cause?.label != null && { label: job.cause.label }),
    },
  };
}

function snapshotOf(submitted: Submitted, pageUrl: string | undefined): JobSnapshot {
  // Prices of what still runs depend on the time; only those of an ended job are shown.
  const endedAt = submitted.status === 'CLOSED' ? submitted.endedAt : null;
  const now = endedAt ?? submitted.createdAt;
  const view =
    'tuningId' in submitted ? viewTuning(submitted, { best: null, jobs: [], now }) : viewJob(submitted, [], now);
  return {
    kind: view.tuning !== null ? 'TUNING' : view.trial !== null ? 'TRIAL' : 'TRAINING',
    tuningId: view.trial?.tuningId ?? null,
    labels: view.labels,
    createTime: view.createTime,
    startTime: view.startTime,
    endTime: view.endTime,
    cause: view.cause && shorten(view.cause),
    interruption: interruptionOf(submitted),
    costUsd: endedAt === null ? null : view.price.totalUsd,
    links: linksOf(view, pageUrl),
  };
}

/** Why the previous attempt ended, while the next one has not started to run. */
function interruptionOf(submitted: Submitted): JobSnapshot['interruption'] {
  if ('tuningId' in submitted || submitted.status !== 'QUEUED') {
    return null;
  }
  const last = submitted.ledger.at(-1);
  const isEarlier = last !== undefined && last.attempt < submitted.attempt;
  return isEarlier && last.cause !== null ? shorten(viewCause(last.cause)) : null;
}

function shorten(cause: NonNullable<JobView['cause']>): NonNullable<JobSnapshot['cause']> {
  const { code, label, canRetryHelp, message, remedy, evidence } = cause;
  return {
    code,
    class: cause.class,
    label,
    canRetryHelp,
    message: clip(message, MESSAGE_BYTES_MAX),
    remedy: clip(remedy, MESSAGE_BYTES_MAX),
    evidence: [...clipLines(evidence.slice(-EVIDENCE_LINES_MAX), EVIDENCE_BYTES_MAX)],
  };
}

function linksOf({ jobId, report, jobDir }: JobView, pageUrl: string | undefined): JobSnapshot['links'] {
  const base = pageUrl?.replace(/\/$/, '');
  return {
    page: base === undefined ? null : pageOf(base, jobId),
    logs: base === undefined ? null : `${base}/v1/jobs/${jobId}/logs`,
    report: clip(report, URI_BYTES_MAX),
    jobDirectory: clip(jobDir, URI_BYTES_MAX),
  };
}

/** The address of a job's page; ids are letters, digits and underscores. */
export function pageOf(pageUrl: string, jobId: string): string {
  return `${pageUrl.replace(/\/$/, '')}/jobs/${jobId}`;
}
