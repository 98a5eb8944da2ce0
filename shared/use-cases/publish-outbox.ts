import type { Effect } from '#shared/domain/event.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus, Topic } from '#shared/ports/message-bus.ts';

export type OutboxPorts = { readonly jobs: JobStore; readonly bus: MessageBus };

const TOPIC_OF: Readonly<Record<Effect['type'], Topic>> = {
  PROVISION: 'provision',
  TEARDOWN: 'teardown',
  JOB_UPDATE: 'job-updates',
};

/**
 * Publishes what a job owes, oldest first, and ticks it off. A crash in between publishes again: every effect is safe
 * to perform twice.
 */
export async function publishOutbox(ports: OutboxPorts, jobId: string): Promise<void> {
  for (const { entryId, effect } of await ports.jobs.listOutbox(jobId)) {
    await ports.bus.publish(TOPIC_OF[effect.type], effect);
    await ports.jobs.markPublished(jobId, entryId);
  }
}
