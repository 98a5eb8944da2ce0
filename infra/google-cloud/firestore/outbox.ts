import { type CollectionReference, FieldValue, type Transaction } from '@google-cloud/firestore';
import { toDocumentId } from '#infra/google-cloud/firestore/collections.ts';

/** Where the outbox of jobs or of tunings is stored, under the names of its fields, and the stored form of effects. */
export type OutboxForm<Effect> = {
  readonly collection: CollectionReference;
  /** The field with the id of the job or tuning. */
  readonly ownerField: 'jobId' | 'tuningId';
  /** The field with the time of the commit. */
  readonly timeField: 'owedAt' | 'addedAt';
  readonly format: (effect: Effect) => string;
  readonly parse: (json: string) => Effect;
};

export type Outbox<Effect> = {
  /** Adds the effects of one commit; `cause` makes the ids of its entries unique. */
  add(
    transaction: Transaction,
    ownerId: string,
    commit: { readonly cause: string; readonly effects: readonly Effect[] },
  ): void;
  /** Ids of the owners with entries. */
  listOwners(countMax: number): Promise<readonly string[]>;
  /** The owner's entries, oldest first. */
  list(ownerId: string): Promise<readonly { readonly entryId: string; readonly effect: Effect }[]>;
  markPublished(ownerId: string, entryId: string): Promise<void>;
};

/** An outbox with one document for each effect. Entries of one commit have the same time and are ordered by position. */
export function openOutbox<Effect>({
  collection,
  ownerField,
  timeField,
  format,
  parse,
}: OutboxForm<Effect>): Outbox<Effect> {
  const documentOf = (ownerId: string, entryId: string) => collection.doc(toDocumentId(`${ownerId}/${entryId}`));
  return {
    add(transaction, ownerId, { cause, effects }) {
      for (const [position, effect] of effects.entries()) {
        const entryId = `${cause}/${position}`;
        transaction.create(documentOf(ownerId, entryId), {
          [ownerField]: ownerId,
          entryId,
          position,
          [timeField]: FieldValue.serverTimestamp(),
          effect: format(effect),
        });
      }
    },
    async listOwners(countMax) {
      const oldest = collection.orderBy(timeField).orderBy('position').limit(countMax).select(ownerField);
      return [...new Set((await oldest.get()).docs.map((document) => String(document.get(ownerField))))];
    },
    async list(ownerId) {
      const found = await collection.where(ownerField, '==', ownerId).orderBy(timeField).orderBy('position').get();
      return found.docs.map((document) => ({
        entryId: String(document.get('entryId')),
        effect: parse(String(document.get('effect'))),
      }));
    },
    async markPublished(ownerId, entryId) {
      await documentOf(ownerId, entryId).delete();
    },
  };
}
