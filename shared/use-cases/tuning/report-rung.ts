import type { TimestampMs } from '#shared/domain/job.ts';
import type { TuningMessage } from '#shared/protocol/stage-message.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';

export type ReachedRung = Omit<Extract<TuningMessage, { type: 'REPORT_RUNG' }>, 'type'>;

/** Reports that a running trial has reached a rung of ASHA; the rules decide whether it goes on. */
export async function reportRung(
  ports: TuningEventPorts,
  { tuningId, ordinal, step, value }: ReachedRung,
  now: TimestampMs,
): Promise<void> {
  const eventId = `rung-${ordinal}-${step}`;
  await handleTuningEvent(ports, { type: 'RUNG_REACHED', eventId, tuningId, at: now, ordinal, step, value });
}
