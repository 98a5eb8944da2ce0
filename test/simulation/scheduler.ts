import { AssertionError } from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prng } from './prng.ts';

export class SimulatedCrash extends Error {}

const PARKED_MAX = 12;

/**
 * Virtual time and every interleaving: what is due runs at its time or a little out of order, every port call stops
 * until the seed lets it go on, and any of them may be where its process dies.
 */
export function createScheduler(prng: Prng, faults: { crash: number }) {
  const timeline: { dueAt: number; run: () => void }[] = [];
  const parked: { resume: () => void; crash: () => void }[] = [];
  let now = 0;
  let running = 0;
  let broken: unknown;

  function park(): Promise<void> {
    return new Promise((resolve, reject) => {
      parked.push({ resume: resolve, crash: () => reject(new SimulatedCrash('The process died.')) });
    });
  }

  /** The port as a handler sees it: every call waits for its turn, before it acts and after. */
  function interruptible<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get:
        (target, name) =>
        async (...input: unknown[]) => {
          await park();
          const result: unknown = await Reflect.apply(Reflect.get(target, name) as () => unknown, target, input);
          if (prng.chance(faults.crash)) {
            throw new SimulatedCrash('The process died after the call took effect.');
          }
          return result;
        },
    });
  }

  function at(dueAt: number, run: () => void): void {
    timeline.push({ dueAt, run });
  }

  /** Runs a handler; what it throws is a failed delivery, but for a broken promise of ours. */
  function start(work: () => Promise<void>, onFailure: () => void): void {
    running += 1;
    work()
      .catch((error: unknown) => {
        if (error instanceof AssertionError) {
          broken ??= error;
        }
        onFailure();
      })
      .finally(() => {
        running -= 1;
      });
  }

  async function step(): Promise<void> {
    if (parked.length >= PARKED_MAX || (parked.length > 0 && prng.chance(0.85))) {
      const [call] = parked.splice(prng.integer(parked.length), 1);
      prng.chance(faults.crash) ? call?.crash() : call?.resume();
    } else if (timeline.length > 0) {
      timeline.sort((a, b) => a.dueAt - b.dueAt);
      const [entry] = timeline.splice(prng.integer(Math.min(2, timeline.length)), 1);
      now = Math.max(now, entry?.dueAt ?? now);
      entry?.run();
    }
    await nextTurn();
    if (broken !== undefined) {
      throw broken;
    }
  }

  return { interruptible, at, start, step, now: () => now, isIdle: () => running === 0 };
}

export type Scheduler = ReturnType<typeof createScheduler>;
