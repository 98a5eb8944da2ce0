import type { Timeouts } from '#shared/domain/timeouts.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { transitionTuning, tuningEntryOf } from '#shared/tuning/rules/transition.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent } from '#shared/tuning/tuning-event.ts';
import { logTransition } from '#shared/use-cases/log-lines.ts';
import { messageOfUpdate, type UpdateSettings } from '#shared/use-cases/reports/job-update.ts';

export type TuningOutboxPorts = UpdateSettings & {
  readonly tunings: TuningStore;
  readonly bus: MessageBus;
};

export type TuningEventPorts = TuningOutboxPorts & { readonly timeouts: Timeouts; readonly logger: Logger };

/**
 * Trials that end together commit to one tuning; of conflicting commits, one succeeds each time. The function `tuning`
 * handles at most as many messages at once.
 */
export const TUNING_COMMIT_TRIES_MAX = 8;

/**
 * Handles an event exactly once, however often it is delivered: read the tuning, apply the rules, commit it with its
 * trials, publish the outbox. Returns the tuning afterwards, or undefined if it does not exist. Throws after
 * TUNING_COMMIT_TRIES_MAX conflicting commits, so that the event is redelivered.
 */
export async function handleTuningEvent(ports: TuningEventPorts, event: TuningEvent): Promise<Tuning | undefined> {
  const { tuningId, eventId } = event;
  for (let commitTry = 1; commitTry <= TUNING_COMMIT_TRIES_MAX; commitTry += 1) {
    const stored = await ports.tunings.read(tuningId);
    if (stored === undefined) {
      return undefined;
    }
    const { tuning, trials, effects } = transitionTuning(stored.record, event, ports.timeouts);
    if (tuning === stored.record) {
      return tuning;
    }
    const expectedRevision = stored.revision;
    const outcome = await ports.tunings.commit({ expectedRevision, eventId, record: tuning, trials, effects });
    if (outcome === 'STALE') {
      continue;
    }
    if (outcome === 'COMMITTED') {
      const entry = tuningEntryOf(stored.record, tuning, event);
      logTransition(ports.logger, { record: tuning, entry, revision: expectedRevision + 1 });
    }
    await publishTuningOutbox(ports, tuningId);
    return outcome === 'COMMITTED' ? tuning : (await ports.tunings.read(tuningId))?.record;
  }
  throw new Error(`Tuning ${tuningId} kept changing while event ${eventId} was handled; it is redelivered.`);
}

/** Does the same as `createJob` for a tuning. */
export async function createTuning(
  { tunings, logger }: Pick<TuningEventPorts, 'tunings' | 'logger'>,
  tuning: Tuning,
  effects: readonly TuningEffect[],
): Promise<'CREATED' | 'EXISTS'> {
  const outcome = await tunings.create(tuning, effects);
  for (const entry of outcome === 'CREATED' ? tuning.history : []) {
    logTransition(logger, { record: tuning, entry, revision: 1 });
  }
  return outcome;
}

/**
 * Publishes the outbox entries of a tuning, oldest first, and marks each as published. A crash in between publishes an
 * entry again: every effect is idempotent.
 */
export async function publishTuningOutbox(ports: TuningOutboxPorts, tuningId: string): Promise<void> {
  for (const { entryId, effect } of await ports.tunings.listOutbox(tuningId)) {
    if (effect.type === 'JOB_UPDATE') {
      const { message, attributes } = messageOfUpdate(effect, (await ports.tunings.read(tuningId))?.record, ports);
      await ports.bus.publish('job-updates', message, attributes);
    } else {
      await ports.bus.publish('tuning', effect, attributesOf(tuningId));
    }
    await ports.tunings.markPublished(tuningId, entryId);
  }
}
