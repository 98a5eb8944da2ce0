/**
 * The collections of the database. In production, though not in the emulator, every query requires an index; fields
 * that are never queried are exempt from indexing. terraform/modules/database defines both, and a test compares it with
 * these constants. Collections keep the names under which existing databases store them.
 */
export const COLLECTIONS = {
  jobs: 'jobs',
  handledEvents: 'handledEvents',
  outbox: 'owedEffects',
  replicas: 'replicas',
  capacityHistory: 'capacityRefusals',
  /** One document, `vms`: what all jobs use together. Written when a placement begins or its VMs are gone. */
  usage: 'usage',
  tunings: 'tunings',
  /** Below the document of their tuning, as are `curves` and the `handledEvents` of tunings. */
  trials: 'trials',
  curves: 'curves',
  tuningOutbox: 'tuningOutbox',
  notifications: 'notifications',
  /** One document, `peers`: the key of the deployment. */
  keys: 'keys',
} as const;

/**
 * The composite indexes that these adapters' queries require, with their fields in order. Firestore indexes single
 * fields automatically.
 */
export const COMPOSITE_INDEXES = [
  { collection: COLLECTIONS.jobs, fields: { createdAt: 'DESCENDING', jobId: 'ASCENDING' } },
  { collection: COLLECTIONS.outbox, fields: { owedAt: 'ASCENDING', position: 'ASCENDING' } },
  { collection: COLLECTIONS.outbox, fields: { jobId: 'ASCENDING', owedAt: 'ASCENDING', position: 'ASCENDING' } },
  { collection: COLLECTIONS.replicas, fields: { jobId: 'ASCENDING', attempt: 'ASCENDING' } },
  { collection: COLLECTIONS.replicas, fields: { jobId: 'ASCENDING', heardAt: 'DESCENDING' } },
  {
    collection: COLLECTIONS.capacityHistory,
    fields: { machineKey: 'ASCENDING', provisioningModel: 'ASCENDING', refusedAt: 'DESCENDING' },
  },
  { collection: COLLECTIONS.tunings, fields: { createdAt: 'DESCENDING', tuningId: 'ASCENDING' } },
  { collection: COLLECTIONS.tuningOutbox, fields: { addedAt: 'ASCENDING', position: 'ASCENDING' } },
  {
    collection: COLLECTIONS.tuningOutbox,
    fields: { tuningId: 'ASCENDING', addedAt: 'ASCENDING', position: 'ASCENDING' },
  },
] as const;

/** Fields that hold whole records and are never queried: indexing them would cost writes and storage. */
export const UNINDEXED_FIELDS = [
  { collection: COLLECTIONS.jobs, field: 'body' },
  { collection: COLLECTIONS.outbox, field: 'effect' },
  { collection: COLLECTIONS.replicas, field: 'body' },
  { collection: COLLECTIONS.tunings, field: 'body' },
  { collection: COLLECTIONS.trials, field: 'body' },
  { collection: COLLECTIONS.curves, field: 'body' },
  { collection: COLLECTIONS.tuningOutbox, field: 'effect' },
  { collection: COLLECTIONS.notifications, field: 'body' },
] as const;

/** The TTL field: Firestore deletes the document, typically within 24 hours after that time (docs, "TTL policies"). */
export const EXPIRY_FIELD = 'expireAt';

/** The collections with a TTL policy. */
export const EXPIRING_COLLECTIONS = [
  COLLECTIONS.handledEvents,
  COLLECTIONS.replicas,
  COLLECTIONS.capacityHistory,
  COLLECTIONS.curves,
  COLLECTIONS.notifications,
] as const;

const DAY_MS = 86_400_000;

/** A message can be redelivered for 7 days (Pub/Sub's retention); its event is kept for longer to detect duplicates. */
export const HANDLED_EVENT_AGE_MS_MAX = 30 * DAY_MS;

/** Usage and progress are read while a job runs and for some time after. */
export const REPLICA_AGE_MS_MAX = 90 * DAY_MS;

/** Curves are shown for some time after their trial; what counts of them is in the trial's own record. */
export const CURVE_AGE_MS_MAX = 90 * DAY_MS;

/** Converts any text to a valid document id, which may not contain `/` and may not be `.`, `..` or `__name__`. */
export function toDocumentId(text: string): string {
  return `k${encodeURIComponent(text)}`;
}

/** The document id of a trial's records: ids in the order of the ordinals, which no query needs an index for. */
export function toOrdinalId(ordinal: number): string {
  return `t${String(ordinal).padStart(6, '0')}`;
}
