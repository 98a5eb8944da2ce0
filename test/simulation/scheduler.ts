import { AssertionError } from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prng } from './prng.ts';

export class SimulatedCrash extends Error {}

type Resumption = 'CRASH' | 'CONTINUE';

/** One run of a handler. After its crash nothing in it continues: no `catch` sees the crash, and no call returns. */
type SimulatedProcess = { isDead: boolean; readonly die: (crash: SimulatedCrash) => void };

const PARKED_MAX = 12;

export type SchedulerOptions = {
  /**
   * Limit on one advance of the clock while calls are parked. In a world with few events, the clock would otherwise
   * skip whole leases while a heartbeat is being handled.
   */
  readonly stepMsMax?: number;
  /**
   * Limit on how long after the first entry the one that runs before it may be due. In a world with few events, the
   * sweep would otherwise overtake the reconciler repeatedly, which then runs many minutes late.
   */
  readonly reorderMsMax?: number;
};

/**
 * Virtual time and every interleaving: due entries run in order or slightly out of order, every port call is parked
 * until the seed resumes it, and the process can crash at any of them.
 */
export function createScheduler(
  prng: Prng,
  faults: { crash: number },
  { stepMsMax = Number.POSITIVE_INFINITY, reorderMsMax = Number.POSITIVE_INFINITY }: SchedulerOptions = {},
) {
  const timeline: { dueAt: number; run: () => void }[] = [];
  const parked: ((fate: Resumption) => void)[] = [];
  const processes = new AsyncLocalStorage<SimulatedProcess>();
  let now = 0;
  let running = 0;
  let violation: unknown;

  function park(): Promise<Resumption> {
    return new Promise((resolve) => {
      parked.push(resolve);
    });
  }

  function crash(message: string): Promise<never> {
    processes.getStore()?.die(new SimulatedCrash(message));
    return new Promise(() => undefined);
  }

  const isDead = () => processes.getStore()?.isDead === true;

  /** A port whose calls are parked before they take effect, and may crash before and after. */
  function interruptible<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get:
        (target, name) =>
        async (...input: unknown[]) => {
          const resumption = await park();
          if (resumption === 'CRASH' || isDead()) {
            return crash('The process crashed.');
          }
          const result: unknown = await act(() =>
            Reflect.apply(Reflect.get(target, name) as () => unknown, target, input),
          );
          return prng.chance(faults.crash) || isDead()
            ? crash('The process crashed after the call took effect.')
            : result;
        },
    });
  }

  /** A violated assertion ends the simulation, even if a use case catches what a port throws. */
  async function act(call: () => unknown): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      recordViolation(error);
      throw error;
    }
  }

  function recordViolation(error: unknown): void {
    if (error instanceof AssertionError) {
      violation ??= error;
    }
  }

  function at(dueAt: number, run: () => void): void {
    timeline.push({ dueAt, run });
  }

  /** Runs a handler. What it throws is a failed delivery, except for a violated assertion. */
  function start(work: () => Promise<void>, onFailure: () => void): void {
    running += 1;
    const crashed = Promise.withResolvers<void>();
    const process: SimulatedProcess = {
      isDead: false,
      die(crash) {
        process.isDead = true;
        crashed.reject(crash);
      },
    };
    Promise.race([processes.run(process, work), crashed.promise])
      .catch((error: unknown) => {
        recordViolation(error);
        onFailure();
      })
      .finally(() => {
        running -= 1;
      });
  }

  function isStepTooLong(): boolean {
    return Math.min(...timeline.map(({ dueAt }) => dueAt)) - now > stepMsMax;
  }

  async function step(): Promise<void> {
    if (parked.length >= PARKED_MAX || (parked.length > 0 && (isStepTooLong() || prng.chance(0.85)))) {
      const [call] = parked.splice(prng.integer(parked.length), 1);
      call?.(prng.chance(faults.crash) ? 'CRASH' : 'CONTINUE');
    } else if (timeline.length > 0) {
      timeline.sort((a, b) => a.dueAt - b.dueAt);
      const drawn = prng.integer(Math.min(2, timeline.length));
      const aheadMs = (timeline[drawn]?.dueAt ?? 0) - (timeline[0]?.dueAt ?? 0);
      const [entry] = timeline.splice(aheadMs <= reorderMsMax ? drawn : 0, 1);
      now = Math.max(now, entry?.dueAt ?? now);
      entry?.run();
    }
    await nextTurn();
    if (violation !== undefined) {
      throw violation;
    }
  }

  return { interruptible, at, start, step, now: () => now, isIdle: () => running === 0 };
}

export type Scheduler = ReturnType<typeof createScheduler>;
