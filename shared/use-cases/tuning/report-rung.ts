import type { TimestampMs } from '#shared/domain/job.ts';
import { handleTuningEvent, type TuningEventPorts } from '#shared/use-cases/handle-tuning-event.ts';

/** `value` is of what is minimized. */
export type ReachedRung = {
  readonly tuningId: string;
  readonly ordinal: number;
  readonly step: number;
  readonly value: number;
};

/** Reports that a running trial has reached a rung of ASHA; the rules decide whether it goes on. */
export async function reportRung(
  ports: TuningEventPorts,
  { tuningId, ordinal, step, value }: ReachedRung,
  now: TimestampMs,
): Promise<void> {
  const eventId = `rung-${ordinal}-${step}`;
  await handleTuningEvent(ports, { type: 'RUNG_REACHED', eventId, tuningId, at: now, ordinal, step, value });
}
