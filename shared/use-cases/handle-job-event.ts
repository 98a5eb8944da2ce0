import type { Effect } from '#shared/domain/effect.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { jobEntryOf } from '#shared/domain/history.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus, Topic } from '#shared/ports/message-bus.ts';
import { usageOf } from '#shared/use-cases/limits/vm-usage.ts';
import { logTransition } from '#shared/use-cases/log-lines.ts';
import { messageOfUpdate, type UpdateSettings } from '#shared/use-cases/reports/job-update.ts';

export type OutboxPorts = UpdateSettings & {
  readonly jobs: JobStore;
  readonly bus: MessageBus;
};

export type EventPorts = OutboxPorts & { readonly timeouts: Timeouts; readonly logger: Logger };

const COMMIT_TRIES_MAX = 8;

const TOPIC_OF: Readonly<Record<Exclude<Effect['type'], 'JOB_UPDATE'>, Topic>> = {
  PROVISION: 'provision',
  TEARDOWN: 'teardown',
  REPORT_TRIAL: 'tuning',
};

/**
 * Handles an event exactly once, however often it is delivered: read the job, apply the rules, commit, publish the
 * outbox. Returns the job afterwards, or undefined if it does not exist. Throws after COMMIT_TRIES_MAX conflicting
 * commits, so that the event is redelivered. With `limits`, an event by which the job would exceed them is not handled.
 */
export async function handleJobEvent(ports: EventPorts, event: JobEvent, limits?: VmLimits): Promise<Job | undefined> {
  for (let commitTry = 1; commitTry <= COMMIT_TRIES_MAX; commitTry += 1) {
    const stored = await ports.jobs.read(event.jobId);
    if (stored === undefined) {
      return undefined;
    }
    const { job, effects } = transition(stored.record, event, ports.timeouts);
    if (job === stored.record) {
      return job;
    }
    const outcome = await ports.jobs.commit({
      expectedRevision: stored.revision,
      eventId: event.eventId,
      record: job,
      effects,
      usage: usageOf(job),
      limits,
    });
    if (outcome === 'STALE') {
      continue;
    }
    if (outcome === 'OVER_LIMIT') {
      return stored.record;
    }
    if (outcome === 'COMMITTED') {
      const entry = jobEntryOf(stored.record, job, event);
      logTransition(ports.logger, { record: job, entry, revision: stored.revision + 1 });
    }
    await publishOutbox(ports, event.jobId);
    return outcome === 'COMMITTED' ? job : (await ports.jobs.read(event.jobId))?.record;
  }
  throw new Error(`Job ${event.jobId} kept changing while event ${event.eventId} was handled; it is redelivered.`);
}

/** Creates a job with its outbox entries, which are not published here. EXISTS: the id is taken, nothing was changed. */
export async function createJob(
  { jobs, logger }: Pick<EventPorts, 'jobs' | 'logger'>,
  job: Job,
  effects: readonly Effect[],
): Promise<'CREATED' | 'EXISTS'> {
  const outcome = await jobs.create(job, effects);
  for (const entry of outcome === 'CREATED' ? job.history : []) {
    logTransition(logger, { record: job, entry, revision: 1 });
  }
  return outcome;
}

/**
 * Publishes the outbox entries of a job, oldest first, and marks each as published. A crash in between publishes an
 * entry again: every effect is idempotent.
 */
export async function publishOutbox(ports: OutboxPorts, jobId: string): Promise<void> {
  for (const { entryId, effect } of await ports.jobs.listOutbox(jobId)) {
    if (effect.type === 'JOB_UPDATE') {
      const { message, attributes } = messageOfUpdate(effect, (await ports.jobs.read(jobId))?.record, ports);
      await ports.bus.publish('job-updates', message, attributes);
    } else {
      // The id is an attribute, too, by which a subscription can be filtered: `attributes.jobId = "digits"`.
      await ports.bus.publish(TOPIC_OF[effect.type], effect, attributesOf(jobId));
    }
    await ports.jobs.markPublished(jobId, entryId);
  }
}
