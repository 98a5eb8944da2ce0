import { type Firestore, Timestamp } from '@google-cloud/firestore';
import { COLLECTIONS, EXPIRY_FIELD, toDocumentId } from '#infra/google-cloud/firestore/collections.ts';
import { NOTIFICATION_AGE_MS_MAX, type NotificationLog } from '#shared/ports/notification-log.ts';
import { parseStoredNotification } from '#shared/protocol/stored-record.ts';

/** The notifications that were sent, one document each; Firestore deletes them when they expire. */
export function createFirestoreNotificationLog(firestore: Firestore): NotificationLog {
  const notifications = firestore.collection(COLLECTIONS.notifications);
  return {
    async find(notificationId) {
      const found = await notifications.doc(toDocumentId(notificationId)).get();
      return found.exists ? parseStoredNotification(String(found.get('body'))) : undefined;
    },
    async record(record) {
      const expireAt = Timestamp.fromMillis(record.at + NOTIFICATION_AGE_MS_MAX);
      const document = { at: record.at, [EXPIRY_FIELD]: expireAt, body: JSON.stringify(record) };
      await notifications.doc(toDocumentId(record.notificationId)).set(document);
    },
    async listNewest(countMax) {
      const found = await notifications.orderBy('at', 'desc').limit(countMax).get();
      return found.docs.map((document) => parseStoredNotification(String(document.get('body'))));
    },
  };
}
