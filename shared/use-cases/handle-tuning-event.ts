import { handleEvent, type Machine } from '#shared/machine/machine.ts';
import type { TuningFacts, TuningStore } from '#shared/ports/tuning-store.ts';
import { transitionTuning, tuningEntryOf } from '#shared/tuning/rules/transition.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';
import type { TuningEvent } from '#shared/tuning/tuning-event.ts';
import { type MachinePorts, submittedMachine } from '#shared/use-cases/submitted-machine.ts';

export type TuningEventPorts = MachinePorts & { readonly tunings: TuningStore };

/** The machine of tunings, each committed with the trials that an event adds or changes. */
export function tuningMachine(ports: TuningEventPorts): Machine<Tuning, TuningEvent, TuningEffect, TuningFacts> {
  return submittedMachine<Tuning, TuningEvent, TuningEffect, TuningFacts>(ports, {
    name: 'Tuning',
    records: ports.tunings,
    idOf: ({ tuningId }) => tuningId,
    transition(before, event) {
      const { tuning: record, ...changes } = transitionTuning(before, event, ports.timeouts);
      return { record, ...changes };
    },
    deadlineOf: (tuningId, wake) => ({ type: 'DEADLINE_PASSED', tuningId, ...wake }),
    entryOf: tuningEntryOf,
  });
}

/** Handles an event of a tuning (`handleEvent`); returns the tuning afterwards, or undefined if it does not exist. */
export async function handleTuningEvent(ports: TuningEventPorts, event: TuningEvent): Promise<Tuning | undefined> {
  return handleEvent(tuningMachine(ports), event);
}
