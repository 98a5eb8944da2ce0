import type { SendAnswer } from '#shared/ports/notification-sender.ts';
import type { NotificationChannel } from '#shared/protocol/notification-channels.ts';

/** The consequence of an answer: the notification was sent, is delivered again, or is not. */
export type Classified = {
  readonly outcome: 'SENT' | 'RETRYING' | 'REJECTED';
  readonly problem: string | null;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
};

/** The longest pause that a channel can ask for: as the longest backoff between two deliveries. */
const RETRY_AFTER_SECONDS_MAX = 600;

const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

/** Evaluates the answer of a channel. The problem says what happened and what to do. */
export function classifyAnswer(answer: SendAnswer, settings: NotificationChannel): Classified {
  if (answer.kind === 'FAILED') {
    const { problem, isFinal } = answer;
    return { outcome: isFinal ? 'REJECTED' : 'RETRYING', problem, status: null, retryAfterMs: null };
  }
  const { status, excerpt, retryAfterSeconds } = answer;
  if (status >= 200 && status <= 299) {
    return { outcome: 'SENT', problem: null, status, retryAfterMs: null };
  }
  const isTransient = status >= 500 || TRANSIENT_STATUSES.has(status);
  const said = excerpt === '' ? '' : ` ("${excerpt}")`;
  return {
    outcome: isTransient ? 'RETRYING' : 'REJECTED',
    problem: `The channel answered HTTP ${status}${said}. ${remedyOf(status, settings)}`,
    status,
    retryAfterMs: retryAfterSeconds === null ? null : Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX) * 1_000,
  };
}

function remedyOf(status: number, { kind, secret }: NotificationChannel): string {
  const renew = `create a webhook and add its URL as a new version of the secret ${secret}`;
  switch (true) {
    case status === 429:
      return 'It limits the rate of messages: use a channel of its own, or notify of fewer states.';
    case status >= 500 || TRANSIENT_STATUSES.has(status):
      return 'Check that the service is up.';
    case status >= 300 && status <= 399:
      return `Redirects are not followed: add the final URL as a new version of the secret ${secret}.`;
    case status === 401 || status === 403:
      return `It does not accept the credential in the URL, or the webhook was disabled: ${renew}.`;
    case status === 404 || status === 410:
      return `The webhook does not exist or was deleted: ${renew}.`;
    default:
      return `Check that the channel is of the kind ${kind}, and that the secret ${secret} has the whole URL.`;
  }
}
