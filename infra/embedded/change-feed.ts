import type { FileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import type { ChangeFeed } from '#shared/ports/change-feed.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';

export type ChangePublisher = ChangeFeed & { readonly publish: (jobId: string) => void };

/** Changes of jobs within this process. */
export function createChangeFeed(): ChangePublisher {
  const listeners = new Set<(jobId: string) => void>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish(jobId) {
      for (const listener of listeners) {
        listener(jobId);
      }
    },
  };
}

type Stores = { readonly jobs: JobStore; readonly tunings: TuningStore; readonly replicas: ReplicaStore };

/** The stores, publishing every write after it. */
export function publishWrites({ jobs, tunings, replicas }: Stores, { publish }: ChangePublisher): Stores {
  const publishAfter = async <Outcome>(jobId: string, write: Promise<Outcome>): Promise<Outcome> => {
    const outcome = await write;
    publish(jobId);
    return outcome;
  };
  return {
    jobs: {
      ...jobs,
      create: (job, effects) => publishAfter(job.jobId, jobs.create(job, effects)),
      commit: (commit) => publishAfter(commit.job.jobId, jobs.commit(commit)),
    },
    tunings: {
      ...tunings,
      create: (tuning, effects) => publishAfter(tuning.tuningId, tunings.create(tuning, effects)),
      commit: (commit) => publishAfter(commit.tuning.tuningId, tunings.commit(commit)),
    },
    replicas: { ...replicas, record: (replica) => publishAfter(replica.jobId, replicas.record(replica)) },
  };
}

/** The log store, publishing the jobs of the lines that are written. */
export function publishLogs(logs: FileLogStore, { publish }: ChangePublisher): FileLogStore {
  return {
    ...logs,
    append(entries) {
      logs.append(entries);
      for (const jobId of new Set(entries.map((entry) => entry.jobId))) {
        publish(jobId);
      }
    },
  };
}
