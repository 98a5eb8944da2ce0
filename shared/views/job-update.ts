import { priceOfJob } from '#shared/catalog/job-price.ts';
import type { JobUpdate } from '#shared/domain/effect.ts';
import { clip, clipLines } from '#shared/domain/job-size.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import { type Submitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { UpdatePublisher } from '#shared/ports/update-publisher.ts';
import { JOB_UPDATE_SCHEMA_VERSION, type JobSnapshot, type JobUpdateMessage } from '#shared/protocol/job-update.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { pageOf } from '#shared/text/page-of.ts';
import { viewCause, viewCommon } from '#shared/views/job-view.ts';
import { viewPrice } from '#shared/views/tuning-view.ts';

/**
 * Limits on the texts of a message, in bytes of JSON: together with the labels they stay below JOB_UPDATE_BYTES_MAX.
 */
const MESSAGE_BYTES_MAX = 2 << 10;
const EVIDENCE_BYTES_MAX = 4 << 10;
const EVIDENCE_LINES_MAX = 10;
const URI_BYTES_MAX = 2 << 10;

export type UpdatePorts = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly bus: MessageBus;
  readonly logger: Logger;
  /** The address of the page, for links to it; undefined if the deployment has none. */
  readonly pageUrl?: string | undefined;
};

/**
 * Publishes updates, each with a snapshot of its job or tuning. An exception while a snapshot is rendered is a defect,
 * which a repetition would not remove: it is logged, and the update is published without its snapshot.
 */
export function createUpdatePublisher(ports: UpdatePorts): UpdatePublisher {
  return {
    async publish(update) {
      // The attempt of a tuning is 0.
      const stored = await (update.attempt === 0 ? ports.tunings : ports.jobs).read(update.jobId);
      const { message, attributes } = render(ports, update, stored?.record);
      await ports.bus.publish('job-updates', message, attributes);
    },
  };
}

function render(ports: UpdatePorts, update: JobUpdate, submitted: Submitted | undefined) {
  try {
    return messageOfUpdate(update, submitted, ports);
  } catch (error) {
    logThrown(ports.logger, error);
    return messageOfUpdate(update, undefined, ports);
  }
}

/**
 * The message about a committed update, with the attributes by which subscriptions are filtered. Its snapshot is of the
 * job as it is now, when the message is published; it is left out if the job has another state or attempt by now, or
 * does not exist.
 */
export function messageOfUpdate(
  update: JobUpdate,
  submitted: Submitted | undefined,
  { pageUrl }: Pick<UpdatePorts, 'pageUrl'>,
): { readonly message: JobUpdateMessage; readonly attributes: Readonly<Record<string, string>> } {
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
  const view = viewCommon(submitted);
  const trial = 'tuningId' in submitted ? null : submitted.trial;
  return {
    kind: 'tuningId' in submitted ? 'TUNING' : trial !== null ? 'TRIAL' : 'TRAINING',
    tuningId: trial?.tuningId ?? null,
    labels: view.labels,
    createTime: view.createTime,
    startTime: view.startTime,
    endTime: view.endTime,
    cause: view.cause && shorten(view.cause),
    interruption: interruptionOf(submitted),
    costUsd: costOf(submitted),
    links: linksOf(view, pageUrl),
  };
}

/** The price of what still runs depends on the time; only that of an ended job is shown. */
function costOf(submitted: Submitted): number | null {
  if (submitted.status !== 'CLOSED') {
    return null;
  }
  const price = 'tuningId' in submitted ? viewPrice(submitted, 0) : priceOfJob(submitted, submitted.endedAt);
  return price.totalUsd;
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

function linksOf(
  { jobId, report, jobDir }: Pick<JobView, 'jobId' | 'report' | 'jobDir'>,
  pageUrl: string | undefined,
): JobSnapshot['links'] {
  return {
    page: pageUrl === undefined ? null : pageOf(pageUrl, jobId),
    logs: pageUrl === undefined ? null : `${pageUrl.replace(/\/$/, '')}/v1/jobs/${jobId}/logs`,
    report: clip(report, URI_BYTES_MAX),
    jobDirectory: clip(jobDir, URI_BYTES_MAX),
  };
}
