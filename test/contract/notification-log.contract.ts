import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  NOTIFICATION_AGE_MS_MAX,
  type NotificationLog,
  type NotificationRecord,
} from '#shared/ports/notification-log.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';

const NOW = 2_000_000_000_000;

function recordOf(notificationId: string, facts: Partial<NotificationRecord> = {}): NotificationRecord {
  const sent = { outcome: 'SENT', problem: null, status: 200, latencyMs: 31, notBefore: null } as const;
  return { notificationId, channel: 'team', title: 'digits SUCCEEDED', ...sent, at: NOW, ...facts };
}

/** The contract of every NotificationLog. */
export function describeNotificationLogContract(name: string, open: OpenStore<NotificationLog>): void {
  describe(`${name} as a log of notifications`, () => {
    let opened: StoreUnderTest<NotificationLog>;
    let log: NotificationLog;

    beforeEach(async () => {
      opened = await open();
      log = opened.store;
    });
    afterEach(() => opened.close());

    it('finds a record in every process, and nothing under another id', async () => {
      await log.record(recordOf('digits-1-SUCCEEDED-team'));
      expect(await (await opened.connect()).find('digits-1-SUCCEEDED-team')).toEqual(
        recordOf('digits-1-SUCCEEDED-team'),
      );
      expect(await log.find('digits-1-FAILED-team')).toBeUndefined();
    });

    it('keeps the last record of a notification', async () => {
      const retrying = recordOf('a', { outcome: 'RETRYING', problem: 'HTTP 503', status: 503, notBefore: NOW + 5_000 });
      await log.record(retrying);
      expect(await log.find('a')).toEqual(retrying);
      await log.record(recordOf('a', { at: NOW + 6_000 }));
      expect(await log.find('a')).toEqual(recordOf('a', { at: NOW + 6_000 }));
      expect(await log.listNewest(10)).toHaveLength(1);
    });

    it('lists the newest records, the last one first', async () => {
      for (const [id, at] of [
        ['b', NOW + 2],
        ['c', NOW + 3],
        ['a', NOW + 1],
      ] as const) {
        await log.record(recordOf(id, { at }));
      }
      expect((await log.listNewest(2)).map(({ notificationId }) => notificationId)).toEqual(['c', 'b']);
    });

    it('keeps records for longer than messages are redelivered', () => {
      expect(NOTIFICATION_AGE_MS_MAX).toBeGreaterThan(7 * 86_400_000);
    });
  });
}
