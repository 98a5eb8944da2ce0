import { classOf } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { NOTIFIED_STATES, type NotifiedState } from '#shared/domain/notification.ts';
import { readSubmitted, type Submitted } from '#shared/ports/read-submitted.ts';
import type { JobUpdateMessage, JobUpdatesMessage } from '#shared/protocol/job-update.ts';
import type { NotificationChannel } from '#shared/protocol/notification-channels.ts';
import { describeJob, describeRefusal, describeTest } from '#shared/use-cases/notify/describe-job.ts';
import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { type ViewPorts, viewSubmitted } from '#shared/views/view-submitted.ts';

/** An update of a job that ended longer ago is a repetition, such as one that an upload of the same package causes. */
const ENDED_AGE_MS_MAX = 7 * 86_400_000;

export type ChoicePorts = ViewPorts & {
  /** The address of the page, for links to it; undefined if the deployment has none. */
  readonly pageUrl?: string | undefined;
};

export type ChannelMessage = {
  readonly channel: string;
  readonly settings: NotificationChannel;
  readonly message: JobUpdatesMessage;
};

/**
 * The notification of a message of the topic `job-updates` to one channel; null if the channel is not notified of it.
 */
export async function chooseNotification(
  ports: ChoicePorts,
  { channel, settings, message }: ChannelMessage,
  now: TimestampMs,
): Promise<Notification | null> {
  switch (message.type) {
    case 'NOTIFICATION_TEST':
      return message.channel === channel
        ? { notificationId: `test-${message.testId}-${channel}`, ...describeTest(channel, ports.pageUrl) }
        : null;
    case 'UPLOAD_REFUSED':
      return settings.states.includes('REFUSED') && Object.keys(settings.labels).length === 0
        ? { notificationId: `refused-${message.uploadId}-${channel}`, ...describeRefusal(message) }
        : null;
    default:
      return ofJob(ports, { channel, settings, message }, now);
  }
}

type ChannelUpdate = ChannelMessage & { readonly message: JobUpdateMessage };

async function ofJob(
  ports: ChoicePorts,
  { channel, settings, message }: ChannelUpdate,
  now: TimestampMs,
): Promise<Notification | null> {
  const { jobId, attempt } = message;
  const submitted = await readSubmitted(ports, jobId);
  const state = submitted && notifiedStateOf(submitted, message);
  if (submitted === undefined || state === undefined || !isWanted(submitted, state, { channel, settings })) {
    return null;
  }
  if (
    submitted.status === 'CLOSED' &&
    (message.state !== submitted.verdict.state || isLongAgo(submitted.endedAt, now))
  ) {
    return null;
  }
  const view = await viewSubmitted(ports, submitted, now);
  const content = describeJob(view, { state, pageUrl: ports.pageUrl, update: message });
  return { notificationId: `${jobId}-${attempt}-${state}-${channel}`, ...content };
}

function isLongAgo(endedAt: TimestampMs, now: TimestampMs): boolean {
  return now - endedAt > ENDED_AGE_MS_MAX;
}

/** The start of another attempt after an interruption is announced as that, not as QUEUED. */
function notifiedStateOf(submitted: Submitted, { state, attempt }: JobUpdateMessage): NotifiedState | undefined {
  const known = NOTIFIED_STATES.find((one) => one === state);
  if (known !== 'QUEUED' || attempt < 2 || 'tuningId' in submitted) {
    return known;
  }
  const cause = submitted.ledger.find((record) => record.attempt === attempt - 1)?.cause;
  return cause != null && classOf(cause) === 'interruption' ? 'INTERRUPTED' : known;
}

/**
 * The settings of the job decide, then the channel. A trial is one of many: only a channel that asks for trials gets
 * them.
 */
function isWanted(
  submitted: Submitted,
  state: NotifiedState,
  { channel, settings }: Omit<ChannelMessage, 'message'>,
): boolean {
  const { notify, labels } = submitted.spec;
  if ('trial' in submitted && submitted.trial !== null && !settings.trials) {
    return false;
  }
  if (!(notify?.states ?? settings.states).includes(state)) {
    return false;
  }
  return notify?.channels == null
    ? Object.entries(settings.labels).every(([key, value]) => labels[key] === value)
    : notify.channels.includes(channel);
}
