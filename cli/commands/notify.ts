import { setTimeout as delay } from 'node:timers/promises';
import { findTarget } from '#cli/client/find-target.ts';
import {
  createNotificationClient,
  type NotificationClient,
  type NotificationOutcome,
} from '#cli/client/notification-client.ts';
import type { Command } from '#cli/core/command.ts';
import { formatTable } from '#cli/render/format-table.ts';
import type { ListedChannel } from '#shared/protocol/answers.ts';
import { formatUtc } from '#shared/text/format-time.ts';

/** A cold start of the function, and the 10 seconds that a channel has to answer. */
const TEST_MS_MAX = 45_000;
const POLL_MS = 500;

const PENDING = `Nothing happened within ${TEST_MS_MAX / 1_000} s. The function notify may not be deployed, or its log has an error.`;

export const notifyTest: Command = {
  operands: [{ name: 'CHANNEL', summary: 'name of a channel; all of them if missing', count: 'optional' }],
  flags: [],
  notes: 'Exits with 1 unless every channel accepts the test.',
  async run(invocation) {
    const { io, operands, print } = invocation;
    const target = await findTarget(invocation);
    const client = createNotificationClient(target.api, io.interrupted);
    const tests = await client.test(operands[0]);
    const results = await Promise.all(
      tests.map(async ({ channel, notificationId }) => {
        const outcome = await awaitOutcome(client, notificationId, io.interrupted);
        return { channel, outcome: outcome?.outcome ?? 'PENDING', ...describeOutcome(outcome) };
      }),
    );
    for (const { channel, outcome, latencyMs, problem } of results) {
      const time = latencyMs === null ? '' : ` in ${latencyMs} ms`;
      const text = outcome === 'SENT' ? `${channel}  sent${time}` : `${channel}  ${outcome}${time}: ${problem}`;
      print({ json: { channel, outcome, latencyMs, problem }, text });
    }
    return results.every(({ outcome }) => outcome === 'SENT') ? 0 : 1;
  },
};

/** The first outcome: a test that is retried has failed for whom watches it. */
async function awaitOutcome(
  client: NotificationClient,
  notificationId: string,
  signal: AbortSignal,
): Promise<NotificationOutcome | undefined> {
  const endsAt = Date.now() + TEST_MS_MAX;
  for (;;) {
    const found = await client.find(notificationId);
    if (found !== undefined || Date.now() >= endsAt) {
      return found;
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

function describeOutcome(outcome: NotificationOutcome | undefined) {
  return outcome === undefined
    ? { latencyMs: null, problem: PENDING }
    : { latencyMs: outcome.latencyMs, problem: outcome.problem };
}

export const notifyList: Command = {
  operands: [],
  flags: [],
  async run(invocation) {
    const { io, print } = invocation;
    const target = await findTarget(invocation);
    const { channels, failed } = await createNotificationClient(target.api, io.interrupted).list();
    const table = formatTable(['CHANNEL', 'KIND', 'STATES', 'LABELS', 'LAST', 'AT'], channels.map(rowOf));
    const problems = failed.map(
      ({ channel, title, problem, at }) => `${formatUtc(at)}  ${channel}  ${title}: ${problem}`,
    );
    const none = 'There are no notification channels. docs/notifications.md describes how to add one.';
    const text = [
      channels.length === 0 ? none : table,
      ...(problems.length === 0 ? [] : ['', 'NOT DELIVERED', ...problems]),
    ];
    print({ json: { channels, failed }, text: text.join('\n') });
    return 0;
  },
};

function rowOf({ channel, kind, states, labels, last }: ListedChannel): readonly string[] {
  const filter = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    channel,
    kind,
    states.join(' '),
    filter.join(' ') || '-',
    last?.outcome ?? '-',
    last === null ? '-' : formatUtc(last.at),
  ];
}
