import assert from 'node:assert/strict';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type Job, replicasOf } from '#shared/domain/job.ts';
import { keepsVm } from '#shared/domain/ownership.ts';
import { UNINTERRUPTED } from '#shared/domain/replica.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { addUsage, findExceeded, type VmLimits } from '#shared/domain/vm-limits.ts';
import { publishOutboxes, wakeDue } from '#shared/machine/machine.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import { provisionMessageSchema, teardownMessageSchema, tuningMessageSchema } from '#shared/protocol/stage-message.ts';
import { jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { tuningMachine } from '#shared/use-cases/handle-tuning-event.ts';
import { usageOf } from '#shared/use-cases/limits/vm-usage.ts';
import { provision } from '#shared/use-cases/provision/provision.ts';
import { endExpiredLeases, wakeDueJobs } from '#shared/use-cases/reconcile/reconcile.ts';
import { sweep, teardown } from '#shared/use-cases/teardown/teardown.ts';
import { noLog } from '../support/collected-log.ts';
import { withUpdates } from '../support/use-cases/updates.ts';
import { createPlacingDeliveries } from './placing-deliveries.ts';
import type { Prng } from './prng.ts';
import { createRecordedSuccesses } from './recorded-successes.ts';
import type { Scheduler } from './scheduler.ts';
import type { SimulatedCloud } from './simulated-cloud.ts';
import { simulatedSettings } from './simulated-job.ts';
import { createTrialRecords } from './trial-records.ts';
import { createTuningStage } from './tuning-stage.ts';
import type { Faults, Mechanism } from './world-faults.ts';

const RECONCILE_EVERY_MS = 60_000;
const SWEEP_EVERY_MS = 300_000;
/** A failed delivery is repeated after a backoff, in which a program may have started. */
const REDELIVERY_MS_MIN = 10_000;
const REDELIVERY_SPREAD_MS = 180_000;

export type ControlPlaneWorld = {
  readonly prng: Prng;
  readonly scheduler: Scheduler;
  readonly cloud: SimulatedCloud;
  readonly faults: Faults;
  readonly has: (mechanism: Mechanism) => boolean;
  /** Whether the reconciler also handles tunings. */
  readonly hasTunings: boolean;
  readonly vmLimits: VmLimits;
  /** Whether each program of the job's attempt has started, or one of its VMs was interrupted. */
  readonly hasStarted: (job: Job) => boolean;
};

type Stage = 'provision' | 'teardown' | 'tuning';

type InAttempt = { readonly jobId: string; readonly attempt: number };

export function attemptOf({ jobId, attempt }: InAttempt): string {
  return `${jobId}/${attempt}`;
}

/** A job runs only with all VMs of its attempt. */
function assertGangScheduled(job: Job): void {
  const created = job.status === 'RUNNING' ? job.instances.length : replicasOf(job.spec).length;
  assert(created === replicasOf(job.spec).length, `${job.jobId} runs with ${created} VMs`);
}

/** A store in which a replica has no lease before its first heartbeat. */
function withoutBootLeases(replicas: ReplicaStore): ReplicaStore {
  return {
    ...replicas,
    record: (replica) => replicas.record(replica.sequence === 0 ? { ...replica, leaseExpiresAt: null } : replica),
  };
}

/** A store in which every replica seems to be alive, so that no failure is held. */
function withoutHolding(replicas: ReplicaStore, now: () => number): ReplicaStore {
  return {
    ...replicas,
    async listByAttempt(attempt) {
      const records = await replicas.listByAttempt(attempt);
      return records.map((record) => ({ ...record, ...UNINTERRUPTED, phase: 'RUNNING', heardAt: now() }));
    },
  };
}

/**
 * A store in which an expired lease suffices: as if other replicas were always reporting, or each replica was suspect
 * before.
 */
function withHastyLeases(
  replicas: ReplicaStore,
  { now, has }: Pick<Scheduler, 'now'> & Pick<ControlPlaneWorld, 'has'>,
) {
  return {
    ...replicas,
    lastHeartbeatAt: async () => (has('newestHeartbeat') ? replicas.lastHeartbeatAt() : now()),
    async listExpired(at: number, countMax: number) {
      const expired = await replicas.listExpired(at, countMax);
      return has('suspectFirst') ? expired : expired.map((replica) => ({ ...replica, suspectSince: at }));
    },
  };
}

/** A store in which no job counts the VMs that were created in vain. */
function withoutUnusedVms(jobs: JobStore): JobStore {
  const uncounted = (job: Job): Job => ({ ...job, counts: { ...job.counts, unusedVms: 0 } });
  return { ...jobs, commit: (change) => jobs.commit({ ...change, record: uncounted(change.record) }) };
}

/** A store that checks the limits before its commits, as if a sum that was read a moment ago was enough. */
function withSoftLimits(jobs: JobStore): JobStore {
  return Object.assign(Object.create(jobs), {
    async commit({ limits, ...change }: Parameters<JobStore['commit']>[0]) {
      const sum = await jobs.readUsage();
      const isOver = limits !== undefined && change.usage && findExceeded(addUsage(sum, change.usage), limits) !== null;
      return isOver ? 'OVER_LIMIT' : jobs.commit(change);
    },
  });
}

/** A store in which the VMs of a placement count until it ends, and not until they are gone. */
function withoutEndedPlacements(jobs: JobStore): Pick<JobStore, 'commit'> {
  const counted = (job: Job): Job => ({ ...job, endedPlacements: 0 });
  return { commit: (change) => jobs.commit({ ...change, usage: usageOf(counted(change.record)) }) };
}

/** Compute Engine's errors without the limit of the quota, as if it was not known. */
function withoutQuotaLimits(vms: VmProvider): VmProvider {
  return {
    ...vms,
    async create(request) {
      const outcome = await vms.create(request);
      if (outcome.outcome !== 'FAILED') {
        return outcome;
      }
      const { cause, zonesAvailable } = outcome.failure;
      return { ...outcome, failure: { cause, zonesAvailable } };
    },
  };
}

/** Nothing deletes a VM that its job keeps, while it is running. */
function withKeptVms(vms: VmProvider, { alive }: SimulatedCloud, jobs: JobStore): VmProvider {
  return {
    ...vms,
    async delete(target, options) {
      const vm = alive().find(({ vmName, zone }) => vmName === target.vmName && zone === target.zone);
      const job = vm && (await jobs.read(vm.jobId))?.record;
      const isKept = vm !== undefined && job !== undefined && keepsVm(job, vm);
      assert(!isKept, `${target.vmName} was deleted although its job keeps it`);
      return vms.delete(target, options);
    },
  };
}

/**
 * The production use cases over the embedded stores: messages, reconciler and sweep, on the virtual clock.
 */
export function createControlPlane(world: ControlPlaneWorld) {
  const { prng, scheduler, cloud, faults, has, hasTunings, vmLimits } = world;
  const { now } = scheduler;
  const trials = createTrialRecords(now);
  const successes = createRecordedSuccesses(now);
  const tuningStage = createTuningStage(() => ports, { now, has });
  const database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const tunings = openSqliteTuningStore(database);
  const curves = openSqliteCurveStore(database);
  const stored = openSqliteReplicaStore(database);
  const replicas = has('holding') ? stored : withoutHolding(stored, () => now() + TIMEOUTS.heartbeatDelayMs);
  /** End of each attempt, by `attemptOf`. */
  const endedAt = new Map<string, number>();
  /** Instance ids of VMs that were confirmed together with all others of their attempt. */
  const confirmed = new Set<string>();
  let commits = 0;
  const placing = createPlacingDeliveries();

  function recordEnd(job: Job): void {
    const hasEnded = job.status === 'CLOSING' || job.status === 'CLOSED';
    const last = attemptOf({ jobId: job.jobId, attempt: hasEnded ? job.attempt : job.attempt - 1 });
    endedAt.set(last, endedAt.get(last) ?? now());
  }

  function recordConfirmed(job: Job): void {
    for (const { instanceId } of 'instances' in job ? job.instances : []) {
      confirmed.add(instanceId);
    }
  }

  const checkedJobs: JobStore = {
    ...jobs,
    async create(job, effects) {
      const outcome = await jobs.create(job, effects);
      if (outcome === 'CREATED') {
        trials.onJobCreated(job);
      }
      return outcome;
    },
    async commit(change) {
      const { record: job } = change;
      commits += 1;
      const before = (await jobs.read(job.jobId))?.record;
      const outcome = await jobs.commit(
        has('duplicateCheck') ? change : { ...change, eventId: `${change.eventId}#${commits}` },
      );
      if (outcome === 'COMMITTED') {
        placing.onCommitted(before, change);
        recordEnd(job);
        assertGangScheduled(job);
        assert(
          job.status !== 'RUNNING' || !has('holding') || !has('fencing') || world.hasStarted(job),
          `${job.jobId} runs before its programs do`,
        );
        recordConfirmed(job);
        successes.onCommitted(job);
        trials.onJobCommitted(job);
      }
      const untried = job.exhaustedZones.filter((zone) => !cloud.hasFailed(job.jobId, job.attempt, zone));
      assert(
        outcome !== 'COMMITTED' || untried.length === 0,
        `${job.jobId}: ${untried} never failed for attempt ${job.attempt}`,
      );
      return outcome;
    },
  };

  const bus: MessageBus = {
    async publish(topic, data) {
      const isTuning = topic === 'tuning' && tuningStage.isPublished(tuningMessageSchema.parse(data));
      if (topic === 'provision' || topic === 'teardown' || isTuning) {
        for (let copy = prng.chance(faults.messageTwice) ? 2 : 1; copy > 0; copy -= 1) {
          if (!prng.chance(faults.messageLost)) {
            deliverLater(topic as Stage, data, prng.integer(prng.chance(0.1) ? 120_000 : 5_000));
          }
        }
      }
      return 'id';
    },
  };

  const interruptibleJobs = scheduler.interruptible<JobStore>({
    ...(has('unusedVmLimit') ? checkedJobs : withoutUnusedVms(checkedJobs)),
    ...(!has('endedPlacements') && withoutEndedPlacements(checkedJobs)),
    ...(!has('waitingOrder') && { listWaiting: async () => [] }),
  });

  const ports = withUpdates({
    tunings: scheduler.interruptible(trials.check(tunings)),
    curves: scheduler.interruptible(curves),
    jobs: has('vmLimits') ? interruptibleJobs : withSoftLimits(interruptibleJobs),
    replicas: scheduler.interruptible(
      withHastyLeases(has('bootLeases') ? replicas : withoutBootLeases(replicas), { now, has }),
    ),
    capacity: scheduler.interruptible(openSqliteCapacityHistory(database)),
    deploymentKey: scheduler.interruptible(openSqliteDeploymentKey(database)),
    vms: scheduler.interruptible(
      withKeptVms(has('quotaDemand') ? cloud.provider : withoutQuotaLimits(cloud.provider), cloud, jobs),
    ),
    bus: scheduler.interruptible(bus),
    objects: scheduler.interruptible(has('recordedSuccess') ? successes.objects : { stat: async () => undefined }),
    timeouts: has('assemblyLimit') ? TIMEOUTS : { ...TIMEOUTS, assemblyMs: Number.POSITIVE_INFINITY },
    logger: noLog,
  });

  /** Parses the message as its function does. */
  async function handle(topic: Stage, message: object): Promise<void> {
    if (topic === 'tuning') {
      await tuningStage.handle(message);
      return;
    }
    if (topic === 'provision') {
      const parsed = provisionMessageSchema.parse(message);
      const settings = { ...simulatedSettings, vmLimits };
      await provision(ports, parsed, { now: now(), settings });
      return;
    }
    const parsed = teardownMessageSchema.parse(message);
    if (parsed.type === 'TEARDOWN' && has('teardown')) {
      await teardown(ports, parsed.jobId, now());
    }
  }

  function deliverLater(topic: Stage, message: object, delayMs: number): void {
    scheduler.at(now() + delayMs, () =>
      scheduler.start(
        async () => {
          placing.begin(topic, message);
          await handle(topic, message);
          placing.end(topic, message);
        },
        () => {
          placing.end(topic, message);
          deliverLater(topic, message, REDELIVERY_MS_MIN + prng.integer(REDELIVERY_SPREAD_MS));
        },
      ),
    );
  }

  function every(periodMs: number, work: () => Promise<void>): void {
    scheduler.at(now() + periodMs, () => {
      scheduler.start(work, () => undefined);
      every(periodMs, work);
    });
  }

  every(RECONCILE_EVERY_MS, async () => {
    await (has('publishOutbox') ? publishOutboxes(jobMachine(ports)) : undefined);
    await (has('leases') ? endExpiredLeases(ports, now()) : undefined);
    await (has('wakeDueJobs') ? wakeDueJobs(ports, now()) : undefined);
    if (hasTunings) {
      await publishOutboxes(tuningMachine(ports));
      await wakeDue(tuningMachine(ports), now());
    }
  });
  every(SWEEP_EVERY_MS, async () => (has('sweep') ? sweep(ports, now()) : undefined));

  const records = { jobs, replicas, tunings, curves, trials, successes, isContested: placing.isContested };
  return { ...records, ports, endedAt, confirmed, close: () => database.close() };
}
