import { createTuning } from '#functions/tuning.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { Cause } from '#shared/domain/cause.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import type { Job } from '#shared/domain/job.ts';
import type { Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { publishOutbox } from '#shared/machine/machine.ts';
import { createLogger } from '#shared/observability/logger.ts';
import type { TuningMessage } from '#shared/protocol/stage-message.ts';
import { newTuning } from '#shared/tuning/new-tuning.ts';
import { trialJobIdOf } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { eventsFor, queuedJob } from '../domain/example-job.ts';
import { exampleCurve, STUDY } from '../domain/example-tuning.ts';
import { withUpdates } from './updates.ts';

type Published = { readonly topic: string; readonly data: object };

/** How the program of a trial ended. */
type Ending = { readonly accuracies?: readonly number[]; readonly cause?: Cause };

/**
 * The function `tuning` over the embedded stores, with a message bus whose messages are delivered when the test says
 * so, and jobs that end when the test says so.
 */
export function openTuning(study: Partial<Study> = {}) {
  const database = openDatabase(':memory:');
  const published: Published[] = [];
  const state = { now: 1_000, crashesAt: (_call: string): boolean => false };
  const ports = withUpdates({
    jobs: crashing('jobs', openSqliteJobStore(database)),
    replicas: openSqliteReplicaStore(database),
    tunings: crashing('tunings', openSqliteTuningStore(database)),
    curves: openSqliteCurveStore(database),
    bus: crashing('bus', {
      async publish(topic: string, data: object) {
        published.push({ topic, data });
        return String(published.length);
      },
    }),
    timeouts: TIMEOUTS,
    clock: { now: () => state.now },
    logger: createLogger(() => undefined),
  });
  const handle = createTuning(ports);

  /** A port whose process dies before the calls that the test selects. */
  function crashing<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get(target, property) {
        const method = Reflect.get(target, property) as (...input: unknown[]) => Promise<unknown>;
        return async (...input: unknown[]) => {
          if (state.crashesAt(`${name}.${String(property)}`)) {
            throw new Error(`The process died before ${name}.${String(property)}.`);
          }
          return method(...input);
        };
      },
    });
  }

  async function deliver(message: TuningMessage): Promise<void> {
    await handle({ content: message, messageId: '1' } as Parameters<typeof handle>[0]);
  }

  const jobOf = async (ordinal: number): Promise<Job | undefined> =>
    (await ports.jobs.read(trialJobIdOf('digits', ordinal)))?.record;

  async function happen(ordinal: number, events: readonly (JobEvent['type'] | JobEvent)[]) {
    for (const given of events) {
      const job = await jobOf(ordinal);
      if (job === undefined) {
        throw new Error(`Trial ${ordinal} has no job.`);
      }
      state.now += 1_000;
      await handleJobEvent(ports, typeof given === 'string' ? eventsFor(job, state.now)[given] : given);
    }
  }

  return {
    ports,
    published,
    state,
    deliver,
    jobOf,
    happen,
    async create(): Promise<void> {
      const { spec, packages, zones, source, warnings } = queuedJob();
      const { tuning, effects } = newTuning({
        spec,
        study: { ...STUDY, ...study },
        packages,
        zones,
        source,
        warnings,
        resumes: [],
        perHourUsd: 0.19,
        now: state.now,
        timeouts: TIMEOUTS,
      });
      await ports.tunings.create(tuning, effects);
      await publishOutbox(tuningMachine(ports), 'digits');
    },
    /** Delivers all messages of the topic `tuning` that are published, and those that they lead to. */
    async deliverAll(): Promise<void> {
      for (let next = takeNext(); next !== undefined; next = takeNext()) {
        await deliver(next);
      }
    },
    /** Runs the job of a trial to its end, its curve included. */
    async endTrial(ordinal: number, { accuracies, cause }: Ending = {}): Promise<void> {
      if (accuracies !== undefined) {
        await ports.curves.write(exampleCurve(ordinal, accuracies), undefined);
      }
      await happen(ordinal, ['PLACEMENT_CHOSEN', 'VMS_CREATED', 'REPLICA_STARTED']);
      const job = await jobOf(ordinal);
      const exit = cause === undefined ? undefined : ({ outcome: 'FAILED', cause } as const);
      const exited = job && eventsFor(job, state.now + 60_000).REPLICA_EXITED;
      state.now += 60_000;
      await happen(ordinal, [...(exited ? [exit === undefined ? exited : { ...exited, exit }] : []), 'VMS_GONE']);
    },
    tuning: async (): Promise<Tuning> => {
      const stored = await ports.tunings.read('digits');
      if (stored === undefined) {
        throw new Error('The tuning does not exist.');
      }
      return stored.record;
    },
    close: () => database.close(),
  };

  function takeNext(): TuningMessage | undefined {
    const index = published.findIndex(({ topic }) => topic === 'tuning');
    return index < 0 ? undefined : (published.splice(index, 1)[0]?.data as TuningMessage);
  }
}

export type TuningUnderTest = ReturnType<typeof openTuning>;
