import type { FunctionPorts } from '#functions/function-ports.ts';
import type { CurveStore, TuningStore } from '#shared/ports/tuning-store.ts';

/** The operations that Firestore and Pub/Sub bill. */
export type BilledCalls = { readonly reads: number; readonly writes: number; readonly messages: number };

export type CallCounter = {
  wrapPorts(ports: FunctionPorts): FunctionPorts;
  /** Counts since the start or the last call. */
  take(): BilledCalls;
};

/**
 * Counts the documents that Firestore's adapters would read and write for the same calls, and published messages: one
 * read per document and for a query without results, one write per document that is written or deleted. A transaction
 * reads what it writes conditionally.
 */
export function createCallCounter(): CallCounter {
  let counts = { reads: 0, writes: 0, messages: 0 };
  const add = (change: Partial<BilledCalls>) => {
    const { reads = 0, writes = 0, messages = 0 } = change;
    counts = { reads: counts.reads + reads, writes: counts.writes + writes, messages: counts.messages + messages };
  };
  return {
    wrapPorts: (ports) => ({
      ...ports,
      jobs: countStore(ports.jobs, add),
      tunings: countTunings(countStore(ports.tunings, add), add),
      replicas: countReplicas(ports.replicas, add),
      curves: countCurves(ports.curves, add),
      bus: {
        publish(...message) {
          add({ messages: 1 });
          return ports.bus.publish(...message);
        },
      },
    }),
    take() {
      const taken = counts;
      counts = { reads: 0, writes: 0, messages: 0 };
      return taken;
    },
  };
}

type Add = (change: Partial<BilledCalls>) => void;

/** Counts the operations that both stores with an outbox have. */
function countStore<Store extends FunctionPorts['jobs'] | FunctionPorts['tunings']>(store: Store, add: Add): Store {
  const { read, create, commit, listOutbox, markPublished } = store as unknown as {
    read(id: string): Promise<unknown>;
    create(record: unknown, effects: readonly unknown[]): Promise<unknown>;
    commit(change: { readonly effects: readonly unknown[] }): Promise<unknown>;
    listOutbox(id: string): Promise<readonly unknown[]>;
    markPublished(...ids: readonly string[]): Promise<void>;
  };
  return {
    ...store,
    read(id: string) {
      add({ reads: 1 });
      return read(id);
    },
    create(record: unknown, effects: readonly unknown[]) {
      add({ writes: 1 + effects.length });
      return create(record, effects);
    },
    async commit(change: { readonly effects: readonly unknown[] }) {
      const outcome = await commit(change);
      add({ reads: 2, writes: outcome === 'COMMITTED' ? 2 + change.effects.length : 0 });
      return outcome;
    },
    async listOutbox(id: string) {
      const entries = await listOutbox(id);
      add({ reads: Math.max(1, entries.length) });
      return entries;
    },
    markPublished(...ids: readonly string[]) {
      add({ writes: 1 });
      return markPublished(...ids);
    },
  };
}

function countTunings(tunings: TuningStore, add: Add): TuningStore {
  return {
    ...tunings,
    async commit(change) {
      const outcome = await tunings.commit(change);
      add({ writes: outcome === 'COMMITTED' ? change.trials.length : 0 });
      return outcome;
    },
    readTrial(tuningId, ordinal) {
      add({ reads: 1 });
      return tunings.readTrial(tuningId, ordinal);
    },
    async listTrials(tuningId, page) {
      const trials = await tunings.listTrials(tuningId, page);
      add({ reads: Math.max(1, trials.length) });
      return trials;
    },
  };
}

function countReplicas(replicas: FunctionPorts['replicas'], add: Add): FunctionPorts['replicas'] {
  return {
    ...replicas,
    record(replica) {
      add({ reads: 1, writes: 1 });
      return replicas.record(replica);
    },
    findByInstance(instanceId) {
      add({ reads: 1 });
      return replicas.findByInstance(instanceId);
    },
    async listByAttempt(attempt) {
      const records = await replicas.listByAttempt(attempt);
      add({ reads: Math.max(1, records.length) });
      return records;
    },
    clearLeases(jobId, attempt) {
      add({ reads: 1, writes: 1 });
      return replicas.clearLeases(jobId, attempt);
    },
  };
}

function countCurves(curves: CurveStore, add: Add): CurveStore {
  return {
    read(tuningId, ordinal) {
      add({ reads: 1 });
      return curves.read(tuningId, ordinal);
    },
    write(curve, replaced) {
      add({ reads: 1, writes: 1 });
      return curves.write(curve, replaced);
    },
    readMany(tuningId, ordinals) {
      add({ reads: ordinals.length });
      return curves.readMany(tuningId, ordinals);
    },
  };
}
