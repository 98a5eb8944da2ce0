import assert from 'node:assert/strict';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { type Job, replicasOf } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { type ProvisionMessage, provision } from '#shared/use-cases/provision/provision.ts';
import { endExpiredLeases, publishOutboxes, wakeDueJobs } from '#shared/use-cases/reconcile/reconcile.ts';
import { sweep, teardown } from '#shared/use-cases/teardown/teardown.ts';
import type { Prng } from './prng.ts';
import type { Scheduler } from './scheduler.ts';
import type { SimulatedCloud } from './simulated-cloud.ts';
import { simulatedSettings } from './simulated-job.ts';
import type { Faults, Mechanism } from './world-faults.ts';

const WATCH_EVERY_MS = 60_000;
const SWEEP_EVERY_MS = 300_000;
/** A failed delivery comes again after a backoff, and a program may have begun by then. */
const REDELIVERY_MS_MIN = 10_000;
const REDELIVERY_SPREAD_MS = 180_000;

export type ControlPlaneWorld = {
  readonly prng: Prng;
  readonly scheduler: Scheduler;
  readonly cloud: SimulatedCloud;
  readonly faults: Faults;
  readonly has: (mechanism: Mechanism) => boolean;
};

type InAttempt = { readonly jobId: string; readonly attempt: number };

export function attemptOf({ jobId, attempt }: InAttempt): string {
  return `${jobId}/${attempt}`;
}

/** All VMs of an attempt come up before its job runs, or none counts. */
function assertWhole(job: Job): void {
  const created = job.status === 'RUNNING' ? job.instances.length : replicasOf(job.spec).length;
  assert(created === replicasOf(job.spec).length, `${job.jobId} runs with ${created} VMs`);
}

/** The store as it was when a VM that has never spoken was nobody's business. */
function withoutFirstWord(replicas: ReplicaStore): ReplicaStore {
  return {
    ...replicas,
    record: (replica) => replicas.record(replica.sequence === 0 ? { ...replica, leaseExpiresAt: null } : replica),
  };
}

/**
 * The store as it would be if a passed lease said all: as if others were heard all along, or each was missed before.
 */
function withoutDoubt(replicas: ReplicaStore, { now, has }: Pick<Scheduler, 'now'> & Pick<ControlPlaneWorld, 'has'>) {
  return {
    ...replicas,
    lastHeartbeatAt: async () => (has('hearing') ? replicas.lastHeartbeatAt() : now()),
    async listExpired(at: number, countMax: number) {
      const expired = await replicas.listExpired(at, countMax);
      return has('secondLook') ? expired : expired.map((replica) => ({ ...replica, suspectSince: at }));
    },
  };
}

/**
 * The production pipeline over the embedded stores: its messages, its watcher and its sweeper, on the virtual clock.
 */
export function createControlPlane({ prng, scheduler, cloud, faults, has }: ControlPlaneWorld) {
  const { now } = scheduler;
  const database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const replicas = openSqliteReplicaStore(database);
  /** Since when an attempt has been over, by `attemptOf`. */
  const overSince = new Map<string, number>();
  /** The VMs that are known to exist, with all others of their attempt. */
  const known = new Set<string>();
  let commits = 0;

  function noteOver(job: Job): void {
    const isOver = job.status === 'CLOSING' || job.status === 'CLOSED';
    const last = attemptOf({ jobId: job.jobId, attempt: isOver ? job.attempt : job.attempt - 1 });
    overSince.set(last, overSince.get(last) ?? now());
  }

  function noteKnown(job: Job): void {
    for (const { instanceId } of 'instances' in job ? job.instances : []) {
      known.add(instanceId);
    }
  }

  const checkedJobs: JobStore = {
    ...jobs,
    async commit(change) {
      const { job } = change;
      commits += 1;
      const outcome = await jobs.commit(
        has('duplicateCheck') ? change : { ...change, eventId: `${change.eventId}#${commits}` },
      );
      if (outcome === 'COMMITTED') {
        noteOver(job);
        assertWhole(job);
        noteKnown(job);
      }
      const strangers = job.exhaustedZones.filter((zone) => !cloud.hasRefused(job.jobId, job.attempt, zone));
      assert(
        outcome !== 'COMMITTED' || strangers.length === 0,
        `${job.jobId}: ${strangers} never refused attempt ${job.attempt}`,
      );
      return outcome;
    },
  };

  const bus: MessageBus = {
    async publish(topic, data) {
      if (topic === 'provision' || topic === 'teardown') {
        for (let copy = prng.chance(faults.messageTwice) ? 2 : 1; copy > 0; copy -= 1) {
          if (!prng.chance(faults.messageLost)) {
            deliverLater(topic, data as ProvisionMessage, prng.integer(prng.chance(0.1) ? 120_000 : 5_000));
          }
        }
      }
      return 'id';
    },
  };

  const ports = {
    jobs: scheduler.interruptible(checkedJobs),
    replicas: scheduler.interruptible(
      withoutDoubt(has('firstWord') ? replicas : withoutFirstWord(replicas), { now, has }),
    ),
    capacity: scheduler.interruptible(openSqliteCapacityHistory(database)),
    vms: scheduler.interruptible(cloud.provider),
    bus: scheduler.interruptible(bus),
    timeouts: TIMEOUTS,
  };

  function deliverLater(topic: 'provision' | 'teardown', message: ProvisionMessage, delayMs: number): void {
    scheduler.at(now() + delayMs, () =>
      scheduler.start(
        () =>
          topic === 'provision'
            ? provision(ports, message, { now: now(), settings: simulatedSettings })
            : has('teardown')
              ? teardown(ports, message.jobId, now())
              : Promise.resolve(),
        () => deliverLater(topic, message, REDELIVERY_MS_MIN + prng.integer(REDELIVERY_SPREAD_MS)),
      ),
    );
  }

  function every(periodMs: number, work: () => Promise<void>): void {
    scheduler.at(now() + periodMs, () => {
      scheduler.start(work, () => undefined);
      every(periodMs, work);
    });
  }

  every(WATCH_EVERY_MS, async () => {
    await (has('publishOutbox') ? publishOutboxes(ports) : undefined);
    await (has('leases') ? endExpiredLeases(ports, now()) : undefined);
    await (has('wakeDueJobs') ? wakeDueJobs(ports, now()) : undefined);
  });
  every(SWEEP_EVERY_MS, async () => (has('sweep') ? sweep(ports, now()) : undefined));

  return { jobs, replicas, ports, overSince, known, close: () => database.close() };
}
