import { expect, it } from 'vitest';
import type { JobStore } from '#shared/ports/job-store.ts';
import {
  job,
  jobOf,
  outboxEffects,
  provisionOf,
  revisionOf,
  teardown,
} from '../support/contract/job-store-examples.ts';

/** The outbox part of the JobStore contract; run by `describeJobStoreContract`. */
export function describeOutbox(store: () => JobStore): void {
  it('lists outbox entries in commit order, with unique ids', async () => {
    await store().create(job, [provisionOf(1), provisionOf(2)]);
    for (const [eventId, effects] of [
      ['e9', [teardown, provisionOf(3)]],
      ['e1', [provisionOf(4)]],
    ] as const) {
      await store().commit({ expectedRevision: await revisionOf(store()), eventId, job, effects });
    }
    expect(await outboxEffects(store())).toEqual([
      provisionOf(1),
      provisionOf(2),
      teardown,
      provisionOf(3),
      provisionOf(4),
    ]);
    expect(new Set((await store().listOutbox('digits')).map(({ entryId }) => entryId)).size).toBe(5);
  });

  it('keeps the order of more than nine entries', async () => {
    const effects = Array.from({ length: 12 }, (_, index) => provisionOf(index + 1));
    await store().create(job, effects);
    expect(await outboxEffects(store())).toEqual(effects);
  });

  it('marks an entry as published idempotently, and no other', async () => {
    await store().create(job, [provisionOf(1), teardown]);
    await store().create(jobOf('other'), [provisionOf(1)]);
    const [first] = await store().listOutbox('digits');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('digits', first?.entryId ?? '');
    await store().markPublished('unknown', 'none');
    expect(await outboxEffects(store())).toEqual([teardown]);
    expect(await outboxEffects(store(), 'other')).toHaveLength(1);
  });

  it('lists the jobs with outbox entries, each once, up to a count', async () => {
    await store().create(job, [provisionOf(1), teardown]);
    await store().create(jobOf('quiet'), []);
    await store().create(jobOf('other'), [provisionOf(1)]);
    expect([...(await store().listJobsWithOutbox(10))].sort()).toEqual(['digits', 'other']);
    expect(await store().listJobsWithOutbox(1)).toHaveLength(1);
    for (const { entryId } of await store().listOutbox('digits')) {
      await store().markPublished('digits', entryId);
    }
    expect(await store().listJobsWithOutbox(10)).toEqual(['other']);
  });
}
