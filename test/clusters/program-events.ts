import * as z from 'zod';
import type { LogEntry } from '#shared/ports/log-store.ts';

const filesSchema = z.record(z.string(), z.string());

/** The lines that `programs/run.py` prints. */
const eventSchema = z.discriminatedUnion('event', [
  z.object({ event: z.literal('START'), files: filesSchema }),
  z.object({ event: z.literal('RESUMED'), step: z.int() }),
  z.object({ event: z.literal('SAVED'), step: z.int(), files: filesSchema }),
  z.object({ event: z.literal('FINISHED'), digest: z.string() }),
]);

type Named = z.infer<typeof eventSchema>;
export type ProgramEvent<Name extends Named['event'] = Named['event']> = Extract<Named, { event: Name }> &
  Pick<LogEntry, 'attempt' | 'replica' | 'at'>;

export type EventReader = <Name extends Named['event']>(name: Name, attempt?: number) => readonly ProgramEvent<Name>[];

/** The events of a log, by name and attempt; by default, of all attempts. */
export function readEvents(log: readonly LogEntry[]): EventReader {
  const events = log.flatMap(({ attempt, replica, at, text }) => {
    const event = text.startsWith('{"event": ') ? eventSchema.parse(JSON.parse(text)) : undefined;
    return event === undefined ? [] : [{ ...event, attempt, replica, at }];
  });
  return <Name extends Named['event']>(name: Name, attempt?: number) =>
    events.filter(
      (event): event is ProgramEvent<Name> =>
        event.event === name && (attempt === undefined || event.attempt === attempt),
    );
}

/** The step that every replica has saved before this time; 0 for none. */
export function lastSaveBefore(events: EventReader, at: number): number {
  const steps = new Map<string, number>();
  for (const { replica, step, at: savedAt } of events('SAVED', 1)) {
    steps.set(replica, savedAt <= at ? step : (steps.get(replica) ?? 0));
  }
  return steps.size === 0 ? 0 : Math.min(...steps.values());
}
