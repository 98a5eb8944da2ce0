import type { Firestore } from '@google-cloud/firestore';

/**
 * The collections of the database. What Dropforge queries needs an index in production, though not in the emulator, and
 * what it never queries is exempted from indexing: terraform/modules/database says both, and a test holds it to this list.
 */
export const COLLECTIONS = {
  jobs: 'jobs',
  handledEvents: 'handledEvents',
  owedEffects: 'owedEffects',
  replicas: 'replicas',
  capacityRefusals: 'capacityRefusals',
} as const;

/** Every composite index that a query of these adapters needs. Single fields are indexed by Firestore itself. */
export const COMPOSITE_INDEXES = [
  { collection: COLLECTIONS.jobs, fields: [['createdAt', 'DESCENDING'] as const, ['jobId', 'ASCENDING'] as const] },
  {
    collection: COLLECTIONS.owedEffects,
    fields: [['owedAt', 'ASCENDING'] as const, ['position', 'ASCENDING'] as const],
  },
  {
    collection: COLLECTIONS.owedEffects,
    fields: [['jobId', 'ASCENDING'] as const, ['owedAt', 'ASCENDING'] as const, ['position', 'ASCENDING'] as const],
  },
  { collection: COLLECTIONS.replicas, fields: [['jobId', 'ASCENDING'] as const, ['attempt', 'ASCENDING'] as const] },
  {
    collection: COLLECTIONS.capacityRefusals,
    fields: [
      ['machineKey', 'ASCENDING'] as const,
      ['provisioningModel', 'ASCENDING'] as const,
      ['refusedAt', 'DESCENDING'] as const,
    ],
  },
] as const;

/** Fields that hold whole records and are read back, never asked for: indexing them would only cost. */
export const UNINDEXED_FIELDS = [
  { collection: COLLECTIONS.jobs, field: 'body' },
  { collection: COLLECTIONS.owedEffects, field: 'effect' },
  { collection: COLLECTIONS.replicas, field: 'body' },
] as const;

/** The field by which Firestore itself deletes what nobody needs any more, within a day or so (docs, "TTL policies"). */
export const EXPIRY_FIELD = 'expireAt';

/** The collections that have it. */
export const EXPIRING_COLLECTIONS = [
  COLLECTIONS.handledEvents,
  COLLECTIONS.replicas,
  COLLECTIONS.capacityRefusals,
] as const;

const DAY_MS = 86_400_000;

/** A message can come again for 7 days (Pub/Sub's retention), and what it caused is remembered for longer. */
export const HANDLED_EVENT_AGE_MS_MAX = 30 * DAY_MS;

/** Usage and progress are looked at while a job runs and some time after. */
export const REPLICA_AGE_MS_MAX = 90 * DAY_MS;

/** Document ids may be any text but for slashes, dots alone and `__name__`: escaped, and begun with a letter. */
export function toDocumentId(text: string): string {
  return `k${encodeURIComponent(text)}`;
}

/** Where Dropforge's documents are; every test has a database, or a project, of its own. */
export type Database = Firestore;
