import { AssertionError } from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prng } from './prng.ts';

export class SimulatedCrash extends Error {}

type Fate = 'CRASH' | 'GO_ON';

/** One run of a handler. Once it has died nothing in it goes on: no `catch` sees its death, and no call is answered. */
type SimulatedProcess = { isDead: boolean; readonly die: (crash: SimulatedCrash) => void };

const PARKED_MAX = 12;

export type SchedulerOptions = {
  /**
   * How far time may leap while calls wait for their turn. Where little happens, it would otherwise leap over leases in
   * the middle of every heartbeat's handling.
   */
  readonly leapMsMax?: number;
};

/**
 * Virtual time and every interleaving: what is due runs at its time or a little out of order, every port call stops
 * until the seed lets it go on, and any of them may be where its process dies.
 */
export function createScheduler(
  prng: Prng,
  faults: { crash: number },
  { leapMsMax = Number.POSITIVE_INFINITY }: SchedulerOptions = {},
) {
  const timeline: { dueAt: number; run: () => void }[] = [];
  const parked: ((fate: Fate) => void)[] = [];
  const processes = new AsyncLocalStorage<SimulatedProcess>();
  let now = 0;
  let running = 0;
  let broken: unknown;

  function park(): Promise<Fate> {
    return new Promise((resolve) => {
      parked.push(resolve);
    });
  }

  function crash(message: string): Promise<never> {
    processes.getStore()?.die(new SimulatedCrash(message));
    return new Promise(() => undefined);
  }

  const isDead = () => processes.getStore()?.isDead === true;

  /** The port as a handler sees it: every call waits for its turn, before it acts and after. */
  function interruptible<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get:
        (target, name) =>
        async (...input: unknown[]) => {
          const fate = await park();
          if (fate === 'CRASH' || isDead()) {
            return crash('The process died.');
          }
          const result: unknown = await act(() =>
            Reflect.apply(Reflect.get(target, name) as () => unknown, target, input),
          );
          return prng.chance(faults.crash) || isDead() ? crash('The process died after the call took effect.') : result;
        },
    });
  }

  /** A broken promise of ours ends the world, even where the pipeline catches what a port throws. */
  async function act(call: () => unknown): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      noteBroken(error);
      throw error;
    }
  }

  function noteBroken(error: unknown): void {
    if (error instanceof AssertionError) {
      broken ??= error;
    }
  }

  function at(dueAt: number, run: () => void): void {
    timeline.push({ dueAt, run });
  }

  /** Runs a handler; what it throws is a failed delivery, but for a broken promise of ours. */
  function start(work: () => Promise<void>, onFailure: () => void): void {
    running += 1;
    const death = Promise.withResolvers<void>();
    const process: SimulatedProcess = {
      isDead: false,
      die(crash) {
        process.isDead = true;
        death.reject(crash);
      },
    };
    Promise.race([processes.run(process, work), death.promise])
      .catch((error: unknown) => {
        noteBroken(error);
        onFailure();
      })
      .finally(() => {
        running -= 1;
      });
  }

  function isLeapTooLong(): boolean {
    return Math.min(...timeline.map(({ dueAt }) => dueAt)) - now > leapMsMax;
  }

  async function step(): Promise<void> {
    if (parked.length >= PARKED_MAX || (parked.length > 0 && (isLeapTooLong() || prng.chance(0.85)))) {
      const [call] = parked.splice(prng.integer(parked.length), 1);
      call?.(prng.chance(faults.crash) ? 'CRASH' : 'GO_ON');
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
