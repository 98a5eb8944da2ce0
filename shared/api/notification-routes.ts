import type { Hono } from 'hono';
import { errorResponse } from '#shared/api/request.ts';
import type { NotificationLog } from '#shared/ports/notification-log.ts';
import { CHANNEL_NAME_PATTERN } from '#shared/protocol/notification-channels.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { type TestPorts, testChannels } from '#shared/use-cases/notify/test-channels.ts';

export type NotificationPorts = TestPorts & { readonly notifications: NotificationLog };

/** Notifications that are read to find the last one of each channel. */
const NEWEST_COUNT_MAX = 100;

const NOTIFICATION_ID_PATTERN = /^[A-Za-z0-9_-]{1,255}$/;

/** The notification channels with the last outcome of each, tests of them, and what came of one notification. */
export function routeNotifications(app: Hono, ports: NotificationPorts): void {
  const { channels, notifications } = ports;

  app.get('/v1/notifications', async (context) => {
    const newest = await notifications.listNewest(NEWEST_COUNT_MAX);
    return context.json({
      channels: Object.entries(channels).map(([channel, { kind, states, labels, trials }]) => ({
        ...{ channel, kind, states, labels, trials },
        last: newest.find((record) => record.channel === channel) ?? null,
      })),
      // Also those of channels that no longer exist.
      failed: newest.filter(({ outcome }) => outcome === 'REJECTED' || outcome === 'UNDELIVERED'),
    });
  });

  app.post('/v1/notifications:test', async (context) => {
    const channel = context.req.query('channel');
    const names = Object.keys(channels);
    if (names.length === 0) {
      throw errorResponse(404, 'This deployment has no notification channels.', 'Add one: docs/notifications.md.');
    }
    if (channel !== undefined && !names.includes(channel)) {
      const named = CHANNEL_NAME_PATTERN.test(channel) ? ` ${channel}` : ' of this name';
      const remedy = `${didYouMean(channel, names)}Its channels are ${names.join(', ')}.`;
      throw errorResponse(404, `This deployment has no notification channel${named}.`, remedy);
    }
    return context.json({ tests: await testChannels(ports, channel) });
  });

  app.get('/v1/notifications/:id', async (context) => {
    const id = context.req.param('id');
    const found = NOTIFICATION_ID_PATTERN.test(id) ? await notifications.find(id) : undefined;
    if (found === undefined) {
      throw errorResponse(404, 'This notification has not been handled.', 'List the channels: dropforge notify list.');
    }
    return context.json(found);
  });
}
