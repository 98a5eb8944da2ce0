import type { JobEvent } from '#shared/domain/event.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { type OutboxPorts, publishOutbox } from '#shared/use-cases/publish-outbox.ts';

export type EventPorts = OutboxPorts & { readonly timeouts: Timeouts };

const COMMIT_TRIES_MAX = 8;

/**
 * Handles one event once, however often it is delivered: read, decide, commit, then pay what is owed. Resolves with
 * the job as it stands afterwards, undefined when there is no such job; throws where it kept changing, to be delivered
 * again.
 */
export async function handleJobEvent(ports: EventPorts, event: JobEvent): Promise<Job | undefined> {
  for (let commitTry = 1; commitTry <= COMMIT_TRIES_MAX; commitTry += 1) {
    const stored = await ports.jobs.read(event.jobId);
    if (stored === undefined) {
      return undefined;
    }
    const { job, effects } = transition(stored.job, event, ports.timeouts);
    if (job === stored.job) {
      return job;
    }
    const outcome = await ports.jobs.commit({
      expectedRevision: stored.revision,
      eventId: event.eventId,
      job,
      effects,
    });
    if (outcome === 'STALE') {
      continue;
    }
    await publishOutbox(ports, event.jobId);
    return outcome === 'COMMITTED' ? job : (await ports.jobs.read(event.jobId))?.job;
  }
  throw new Error(`Job ${event.jobId} kept changing under event ${event.eventId}; it will be delivered again.`);
}
