import { DocumentReference, Query } from '@google-cloud/firestore';
import { vi } from 'vitest';

/**
 * Counts the reads that Firestore bills outside transactions, until `end` is called: one for each document that a query
 * returns, at least one for a query, and one for each document that is read by its name, even if it does not exist.
 */
export function countReads() {
  let count = 0;
  const [getQuery, getDocument] = [Query.prototype.get, DocumentReference.prototype.get];
  const spies = [
    vi.spyOn(Query.prototype, 'get').mockImplementation(async function (this: Query) {
      const found = await getQuery.call(this);
      count += Math.max(1, found.size);
      return found;
    }),
    vi.spyOn(DocumentReference.prototype, 'get').mockImplementation(async function (this: DocumentReference) {
      count += 1;
      return getDocument.call(this);
    }),
  ];
  return {
    async of(work: () => Promise<unknown>): Promise<number> {
      const before = count;
      await work();
      return count - before;
    },
    end() {
      for (const spy of spies) {
        spy.mockRestore();
      }
    },
  };
}
