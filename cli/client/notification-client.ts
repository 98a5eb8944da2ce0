import type * as z from 'zod';
import type { Api } from '#cli/client/api-client.ts';
import { requestJson } from '#cli/client/request-json.ts';
import { unlessNotFound } from '#cli/core/failure.ts';
import { notificationRecordSchema } from '#shared/ports/notification-log.ts';
import { notificationListSchema, notificationTestsSchema } from '#shared/protocol/answers.ts';

export type NotificationOutcome = z.infer<typeof notificationRecordSchema>;

export type NotificationClient = {
  list(): Promise<z.infer<typeof notificationListSchema>>;
  /** Starts a test of one channel, or of all. */
  test(channel: string | undefined): Promise<z.infer<typeof notificationTestsSchema>['tests']>;
  /** Undefined until the notification was handled once. */
  find(notificationId: string): Promise<NotificationOutcome | undefined>;
};

/** Client of the notification routes of Dropforge's HTTP API; throws like the client of jobs. */
export function createNotificationClient({ url, authorize, remedies }: Api, signal: AbortSignal): NotificationClient {
  const request = async <T>(path: string, schema: z.ZodType<T>, method: 'GET' | 'POST' = 'GET'): Promise<T> =>
    requestJson(`${url}/v1/notifications${path}`, schema, { method, signal, remedies, headers: await authorize() });
  return {
    list: () => request('', notificationListSchema),
    async test(channel) {
      const query = channel === undefined ? '' : `?${new URLSearchParams({ channel })}`;
      return (await request(`:test${query}`, notificationTestsSchema, 'POST')).tests;
    },
    find: (notificationId) =>
      unlessNotFound(request(`/${encodeURIComponent(notificationId)}`, notificationRecordSchema)),
  };
}
