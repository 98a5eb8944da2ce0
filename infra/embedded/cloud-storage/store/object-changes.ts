import type { Blob, BlobDirectory } from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import type { ObjectIndex } from '#infra/embedded/cloud-storage/store/object-index.ts';
import {
  findFailedPrecondition,
  type ObjectAttributes,
  type Preconditions,
  type StoredObject,
} from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

export type ObjectChangesContext = {
  readonly database: Database;
  readonly index: ObjectIndex;
  readonly blobs: BlobDirectory;
  readonly clock: Clock;
  readonly onFinalized: (object: StoredObject) => void;
};

export type NewGeneration = {
  readonly target: ObjectName;
  readonly blob: Blob;
  readonly attributes: ObjectAttributes;
  readonly preconditions: Preconditions;
  readonly componentCount: number | null;
};

export type WriteRejection = 'CONFLICT' | 'NO_BUCKET';
type ChangeOutcome = 'CHANGED' | 'NO_OBJECT' | 'CONFLICT';

export type ObjectChanges = ReturnType<typeof openObjectChanges>;

/** Changes to the index. Each is one transaction; blobs left unreferenced are removed afterwards. */
export function openObjectChanges(context: ObjectChangesContext) {
  const { database, index, clock } = context;
  return {
    removeUnreferenced: (blobIds: readonly string[]) => removeUnreferenced(context, blobIds),
    /** Makes a live object noncurrent, within a transaction; returns the blobs that may be unreferenced now. */
    retire: (object: StoredObject) => retire(context, object),
    /** Makes the blob the object's live generation. `within` runs in the same transaction, whatever the outcome. */
    async commit(
      change: NewGeneration,
      within: (outcome: StoredObject | WriteRejection) => void = () => {},
    ): Promise<StoredObject | WriteRejection> {
      const candidates = [change.blob.blobId];
      try {
        return database.transaction(() => {
          const rejection = findWriteRejection(index, change.target, change.preconditions);
          const outcome = rejection ?? insertGeneration(context, change, candidates);
          within(outcome);
          return outcome;
        });
      } finally {
        await removeUnreferenced(context, candidates);
      }
    },
    patch(
      target: ObjectName,
      { generation, attributes, preconditions }: ObjectPatch,
    ): StoredObject | 'NO_OBJECT' | 'CONFLICT' {
      return database.transaction(() => {
        const found = index.find(target, generation)?.object;
        if (found === undefined) {
          return 'NO_OBJECT';
        }
        if (findFailedPrecondition(found, preconditions) !== undefined) {
          return 'CONFLICT';
        }
        const metageneration = found.metageneration + 1;
        const patched = { ...found, ...attributes(found), metageneration, updatedAt: clock.now() };
        index.update(patched);
        return patched;
      });
    },
    /** Without a generation, makes the live object noncurrent; with one, deletes that generation permanently. */
    async remove(target: ObjectName, { generation, preconditions }: ObjectRemoval): Promise<ChangeOutcome> {
      const freed: string[] = [];
      const outcome = database.transaction(() => {
        const found = index.find(target, generation)?.object;
        if (found === undefined) {
          return 'NO_OBJECT';
        }
        if (findFailedPrecondition(found, preconditions) !== undefined) {
          return 'CONFLICT';
        }
        if (generation === undefined) {
          freed.push(...retire(context, found));
        } else {
          freed.push(...index.delete(found));
        }
        return 'CHANGED';
      });
      await removeUnreferenced(context, freed);
      return outcome;
    },
  };
}

async function removeUnreferenced({ blobs, index }: ObjectChangesContext, blobIds: readonly string[]): Promise<void> {
  await blobs.remove(blobIds.filter((blobId) => !index.isReferenced(blobId)));
}

export type ObjectPatch = {
  readonly generation?: string | undefined;
  readonly attributes: (current: ObjectAttributes) => Partial<ObjectAttributes>;
  readonly preconditions: Preconditions;
};

export type ObjectRemoval = { readonly generation?: string | undefined; readonly preconditions: Preconditions };

export function findWriteRejection(
  index: ObjectIndex,
  target: ObjectName,
  preconditions: Preconditions,
): WriteRejection | undefined {
  if (index.findBucket(target.bucket) === undefined) {
    return 'NO_BUCKET';
  }
  return findFailedPrecondition(index.find(target)?.object, preconditions) === undefined ? undefined : 'CONFLICT';
}

function retire({ index, clock }: ObjectChangesContext, object: StoredObject): readonly string[] {
  index.retire(object, clock.now());
  return index.prune(object, clock.now());
}

function insertGeneration(context: ObjectChangesContext, change: NewGeneration, freed: string[]): StoredObject {
  const { index, clock, onFinalized } = context;
  const { target, blob, attributes, componentCount } = change;
  const { blobId, ...content } = blob;
  const live = index.find(target)?.object;
  if (live !== undefined) {
    index.retire(live, clock.now());
  }
  const object = { bucket: target.bucket, name: target.name, ...attributes, ...content, componentCount };
  const inserted = index.insert({ blobId, object }, clock.now());
  freed.push(...index.prune(target, clock.now()));
  onFinalized(inserted.object);
  return inserted.object;
}
