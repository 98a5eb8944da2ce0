import { randomUUID } from 'node:crypto';
import { FieldValue, Firestore, Timestamp } from '@google-cloud/firestore';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createFirestoreChangeFeed } from '#infra/google-cloud/firestore/firestore-change-feed.ts';
import { createFirestoreJobStore } from '#infra/google-cloud/firestore/firestore-job-store.ts';
import { createFirestoreReplicaStore } from '#infra/google-cloud/firestore/firestore-replica-store.ts';
import { createFirestoreTuningStore } from '#infra/google-cloud/firestore/firestore-tuning-store.ts';
import { type ApiUnderTest, openApiUnderTest } from '../support/api/api-under-test.ts';
import { jobOf } from '../support/contract/job-store-examples.ts';
import { exampleReplica } from '../support/domain/example-replica.ts';
import { countReads } from '../support/google-cloud/count-reads.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const hosts = inject('emulatorHosts');
const JOBS = 100;
const LIST = '/v1/jobs?view=PROGRESS&pageSize=100';

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'a poll of Firestore');
} else {
  describe(`a poll of Firestore with ${JOBS} jobs`, () => describeReads(hosts.firestore));
}

function describeReads(host: string): void {
  let firestore: Firestore;
  let api: ApiUnderTest;
  let reads: ReturnType<typeof countReads>;

  beforeAll(async () => {
    reads = countReads();
    firestore = new Firestore({ projectId: `test-${randomUUID()}`, host, ssl: false });
    const clock = { now: Date.now };
    api = await openApiUnderTest({
      jobs: createFirestoreJobStore(firestore, clock),
      tunings: createFirestoreTuningStore(firestore, clock),
      replicas: createFirestoreReplicaStore(firestore),
      changes: createFirestoreChangeFeed(firestore, 'test', clock),
    });
    const ids = Array.from({ length: JOBS }, (_, index) => `job_${index}`);
    await Promise.all(ids.map((id, index) => api.ports.jobs.create(jobOf(id, { createdAt: index }), [])));
    await Promise.all(ids.map((jobId) => api.ports.replicas.record({ ...exampleReplica(), jobId, heardAt: 1 })));
    const { docs } = await firestore.collection('jobs').get();
    // They changed an hour ago.
    await Promise.all(docs.map(({ ref }) => ref.update({ changedAt: Timestamp.fromMillis(Date.now() - 3_600_000) })));
  });
  afterAll(async () => {
    reads.end();
    await api.close();
    await firestore.terminate();
  });

  const listAt = (at: number, marker?: string) =>
    createFirestoreChangeFeed(firestore, 'test', { now: () => at }).list({ marker });

  const get = async (path: string) => (await api.request(path)).json();

  /** The reads of polls after one another, with the last answer. */
  async function poll(query: string, polls: number) {
    let { marker } = await get(`/v1/changes?${query}`);
    const counts: number[] = [];
    for (let index = 0; index < polls; index += 1) {
      counts.push(await reads.of(async () => ({ marker } = await get(`/v1/changes?since=${marker}&${query}`))));
    }
    return { counts, marker };
  }

  it.each(['', 'job=job_7'])('costs two reads when nothing changed, of "%s"', async (query) => {
    expect((await poll(query, 4)).counts).toEqual([2, 2, 2, 2]);
  });

  it('is due after 5 seconds, or 15 without changes for 2 minutes, and reads everything after an hour', async () => {
    const start = Date.now() + 60_000;
    const first = await listAt(start);
    const soon = await listAt(start + 5_000, first.marker);
    const later = await listAt(start + 120_000, soon.marker);
    expect([first, soon, later].map(({ pollAfterMs }) => pollAfterMs)).toEqual([5_000, 5_000, 15_000]);
    expect(later.isEverything).toBe(false);
    expect((await listAt(start + 3_700_000, later.marker)).isEverything).toBe(true);
  });

  it('follows a job of the version before, which has no time of its commit, from its next commit on', async () => {
    await firestore.doc('jobs/kjob_9').update({ changedAt: FieldValue.delete() });
    const { marker } = await poll('job=job_9', 1);
    expect((await get(`/v1/changes?since=${marker}&job=job_9`)).changes).toEqual([]);
    await api.ports.jobs.commit({ expectedRevision: 1, eventId: 'e9', record: jobOf('job_9'), effects: [] });
    expect((await get(`/v1/changes?since=${marker}&job=job_9`)).changes).toMatchObject([{ version: '2' }]);
    await firestore.doc('jobs/kjob_9').update({ changedAt: FieldValue.delete() });
  });

  it('finds a commit that became visible only after a poll had passed its time', async () => {
    const { marker } = await listAt(Date.now());
    const next = await listAt(Date.now(), marker);
    const committedAt = Timestamp.fromMillis(Date.now() - 9_000);
    await firestore.doc('jobs/late').set({ jobId: 'late', revision: 2, changedAt: committedAt });
    const { changes } = await listAt(Date.now(), next.marker);
    await firestore.doc('jobs/late').delete();
    expect(changes).toEqual([{ jobId: 'late', kind: 'RECORD', version: '2' }]);
  });

  it('costs the reads of what changed, where the whole list costs two a job', async () => {
    const whole = await reads.of(() => get(LIST));
    const { marker } = await poll('', 1);
    await api.ports.jobs.commit({ expectedRevision: 1, eventId: 'e1', record: jobOf('job_7'), effects: [] });
    let changed: readonly { readonly jobId: string }[] = [];
    const found = await reads.of(async () => ({ changes: changed } = await get(`/v1/changes?since=${marker}`)));
    const again = await reads.of(() => get(`${LIST}&id=job_7`));

    expect(changed.map(({ jobId }) => jobId)).toEqual(['job_7']);
    expect([whole, found, again]).toEqual([2 * JOBS + 1, 2, 2]);
  });

  it('describes a cluster for one read of the job and one for each replica of its last attempt', async () => {
    const workers = Array.from({ length: 100 }, (_, index) => `worker-${index}`);
    const record = (attempt: number, replica: string) =>
      api.ports.replicas.record({
        ...exampleReplica(),
        ...{ jobId: 'job_5', attempt, replica, instanceId: `${attempt}-${replica}`, heardAt: 2 },
      });
    await Promise.all(workers.flatMap((replica) => [record(1, replica), record(2, replica)]));
    expect(await reads.of(() => get('/v1/jobs/job_5'))).toBe(1 + 1 + workers.length);
  });
}
