import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { job } from '../support/contract/job-store-examples.ts';
import type { OpenStore, StoreUnderTest } from '../support/contract/store-under-test.ts';
import { searchingTuning } from '../support/domain/example-tuning.ts';

type Stores = { readonly jobs: JobStore; readonly tunings: TuningStore };

/** The contract of a JobStore and a TuningStore of one deployment: users cancel and describe both by one kind of id. */
export function describeSubmittedIdsContract(name: string, open: OpenStore<Stores>): void {
  describe(`${name} as the store of jobs and tunings`, () => {
    let opened: StoreUnderTest<Stores>;
    const tuning = searchingTuning({ tuningId: job.jobId });

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    it('creates no job with the id of a tuning, and no tuning with that of a job', async () => {
      const { jobs, tunings } = opened.store;
      await jobs.create(job, []);
      expect(await tunings.create(tuning, [])).toBe('EXISTS');
      expect(await tunings.read(job.jobId)).toBeUndefined();

      await tunings.create({ ...tuning, tuningId: 'other' }, []);
      expect(await jobs.create({ ...job, jobId: 'other' }, [])).toBe('EXISTS');
      expect(await jobs.read('other')).toBeUndefined();
    });

    it('creates one of a job and a tuning that are submitted with one id at the same time', async () => {
      const other = await opened.connect();
      const outcomes = await Promise.all([opened.store.jobs.create(job, []), other.tunings.create(tuning, [])]);
      expect(outcomes.toSorted()).toEqual(['CREATED', 'EXISTS']);
    });
  });
}
