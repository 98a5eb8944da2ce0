import type { Effect } from '#shared/domain/effect.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { Machine } from '#shared/machine/machine.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { MessageBus, Topic } from '#shared/ports/message-bus.ts';
import type { Submitted } from '#shared/ports/read-submitted.ts';
import type { UpdatePublisher } from '#shared/ports/update-publisher.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';
import { logTransition } from '#shared/use-cases/log-lines.ts';

export type MachinePorts = {
  readonly bus: MessageBus;
  readonly updates: UpdatePublisher;
  readonly timeouts: Timeouts;
  readonly logger: Logger;
};

const TOPIC_OF: Readonly<Record<Exclude<(Effect | TuningEffect)['type'], 'JOB_UPDATE'>, Topic>> = {
  PROVISION: 'provision',
  TEARDOWN: 'teardown',
  REPORT_TRIAL: 'tuning',
  SUGGEST: 'tuning',
  START_TRIAL: 'tuning',
  STOP_TRIAL: 'tuning',
};

/**
 * The machine of what users submit, from its store and rules: each effect is an update, or the message of its topic,
 * with the job id as an attribute by which a subscription can be filtered; each commit is a line of the log.
 */
export function submittedMachine<Item extends Submitted, Event, AnyEffect extends Effect | TuningEffect, Facts>(
  { bus, updates, logger }: MachinePorts,
  rules: Omit<Machine<Item, Event, AnyEffect, Facts>, 'publish' | 'onCommitted'> & {
    readonly entryOf: (before: Item, after: Item, event: Event) => HistoryEntry;
  },
): Machine<Item, Event, AnyEffect, Facts> {
  return {
    ...rules,
    async publish(effect: Effect | TuningEffect, id) {
      return effect.type === 'JOB_UPDATE'
        ? updates.publish(effect)
        : bus.publish(TOPIC_OF[effect.type], effect, attributesOf(id));
    },
    onCommitted(record, { revision, change }) {
      const entries = change === null ? record.history : [rules.entryOf(change.before, record, change.event)];
      const isInHistory = record.history !== change?.before.history;
      for (const entry of entries) {
        logTransition(logger, { record, entry, isInHistory, revision });
      }
    },
  };
}
