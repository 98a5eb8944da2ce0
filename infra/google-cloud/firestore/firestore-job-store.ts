import { type DocumentSnapshot, FieldValue, type Firestore } from '@google-cloud/firestore';
import { COLLECTIONS } from '#infra/google-cloud/firestore/collections.ts';
import { createFirestoreRecordStore } from '#infra/google-cloud/firestore/firestore-record-store.ts';
import type { Effect } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import { addUsage, findExceeded, type VmUsage } from '#shared/domain/vm-limits.ts';
import { isWaiting, orderKeyOf } from '#shared/domain/waiting-order.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { JobFacts, JobStore } from '#shared/ports/job-store.ts';
import { JOB_FORM, parseEach } from '#shared/protocol/stored-record.ts';

/** Jobs in Firestore, each with what it uses, and one document with the sum. */
export function createFirestoreJobStore(firestore: Firestore, clock: Clock): JobStore {
  const jobs = firestore.collection(COLLECTIONS.jobs);
  const sum = firestore.collection(COLLECTIONS.usage).doc('vms');
  const records = createFirestoreRecordStore<Job, Effect, JobFacts>(
    { firestore, clock },
    {
      form: JOB_FORM,
      collection: COLLECTIONS.jobs,
      sharesIdsWith: [COLLECTIONS.tunings],
      outbox: { collection: COLLECTIONS.outbox, timeField: 'owedAt' },
      fieldsOf,
      async commitFacts({ transaction, stored }, { usage = toUsage(stored), limits }) {
        const added = addUsage(usage, toUsage(stored), -1);
        if (limits !== undefined && added.vms > 0) {
          // Read last, and only by what adds VMs: the document is locked until the transaction ends.
          const used = toUsage(await transaction.get(sum));
          if (findExceeded(addUsage(used, added), limits) !== null) {
            return 'OVER_LIMIT';
          }
        }
        if (Object.values(added).some((amount) => amount !== 0)) {
          const change = Object.entries(added).map(([key, amount]) => [key, FieldValue.increment(amount)]);
          transaction.set(sum, Object.fromEntries(change), { merge: true });
        }
        return usage;
      },
    },
  );
  return {
    ...records,
    readUsage: async () => toUsage(await sum.get()),
    async listWaiting(countMax) {
      const { docs } = await jobs.orderBy('orderKey').limit(countMax).get();
      return parseEach(docs, (found) => JOB_FORM.parse(String(found.get('body')))).filter(isWaiting);
    },
  };
}

/** The job of a trial has no `createdAt`, so it is not listed; only a waiting job has an `orderKey`. */
function fieldsOf(job: Job) {
  const listed = job.trial === null ? { createdAt: job.createdAt } : {};
  return { status: job.status, ...listed, ...(isWaiting(job) && { orderKey: orderKeyOf(job) }) };
}

/** Reads the usage of a job, or of all jobs together; a document of the version before counts as zero. */
function toUsage(document: DocumentSnapshot): VmUsage {
  const numberAt = (key: keyof VmUsage) => Number(document.get(key) ?? 0);
  return { vms: numberAt('vms'), microUsdPerHour: numberAt('microUsdPerHour'), unpricedVms: numberAt('unpricedVms') };
}
