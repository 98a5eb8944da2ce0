import { createPrng, type Prng } from './prng.ts';

/** Each is a part of how a cluster's files are saved as one set; the simulation runs without any of them, too. */
export type JointSetMechanism =
  /** A set is committed only if no shard has changed since the last of its snapshots was taken. */
  | 'secondPhase'
  /** Without it, each replica uploads its shard when it is asked, and the set is complete once all have uploaded. */
  | 'snapshots'
  /** Messages of earlier rounds are ignored. */
  | 'roundNumbers'
  /** Messages of other attempts are ignored. */
  | 'secret'
  /** A manifest replaces only the one that its writer has read or written last. */
  | 'fence'
  /** A replica restores after the master of its attempt has claimed the manifest. */
  | 'claimFirst';

/** A file that is rewritten in place; its content is the step that wrote it. */
type Shard = { step: number; version: number; isWriting: boolean; changedAt: number };

export type Agent = {
  readonly attempt: number;
  /** The replica's; 0 is the master. */
  readonly index: number;
  readonly shard: Shard;
  isAlive: boolean;
  /** The set that it has restored, by replica; undefined until then. */
  restored: readonly number[] | undefined;
  round: number;
  snapshot: { readonly step: number; readonly version: number };
};

/** Its objects are named by generation, so that uploads replace none of them. */
export type Manifest = { readonly attempt: number; readonly generation: number; readonly steps: readonly number[] };

/** How long things take in this run. */
export type Rhythm = {
  readonly delayMsMax: number;
  readonly uploadMsMax: number;
  readonly writeMsMax: number;
  /** How long after the first replica another one may begin to write. */
  readonly skewMsMax: number;
  /** How long a shard must not have changed for a snapshot. */
  readonly quietMs: number;
  readonly pauseMsMax: number;
};

const POLL_MS = 20;

/** Virtual time, the agents of all attempts, and the manifest of the job directory. */
export class SimulatedCluster {
  readonly prng: Prng;
  readonly rhythm: Rhythm;
  readonly replicaCount: number;
  readonly agents: Agent[] = [];
  /** The broken promises, in the order of time. */
  readonly violations: string[] = [];
  /** The committed sets of all attempts, in the order of time. */
  readonly sets: Manifest[] = [];
  readonly #without: readonly JointSetMechanism[];
  readonly #timeline: { dueAt: number; run: () => void }[] = [];
  #now = 0;
  #manifest: Manifest;

  constructor(seed: number, without: readonly JointSetMechanism[]) {
    this.prng = createPrng(seed);
    this.#without = without;
    this.replicaCount = 2 + this.prng.integer(2);
    this.#manifest = { attempt: 0, generation: 0, steps: new Array(this.replicaCount).fill(0) };
    const skewMsMax = 1 + this.prng.integer(200);
    this.rhythm = {
      skewMsMax,
      quietMs: skewMsMax,
      delayMsMax: 2 + this.prng.integer(100),
      uploadMsMax: 1 + this.prng.integer(600),
      writeMsMax: 1 + this.prng.integer(400),
      pauseMsMax: 100 + this.prng.integer(2_000),
    };
  }

  has(mechanism: JointSetMechanism): boolean {
    return !this.#without.includes(mechanism);
  }

  get manifest(): Manifest {
    return this.#manifest;
  }

  get now(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): void {
    this.#timeline.push({ dueAt: this.#now + delayMs, run });
  }

  /** Checks periodically, and calls once; never if the agent dies before. */
  when(agent: Agent, isTrue: () => boolean, run: () => void): void {
    if (!agent.isAlive) {
      return;
    }
    if (isTrue()) {
      run();
    } else {
      this.after(POLL_MS, () => this.when(agent, isTrue, run));
    }
  }

  /** Delivers a message: late, rarely very late, or never. */
  send(deliver: () => void): void {
    const lateMs = this.prng.chance(0.05) ? this.prng.integer(3_000) : 0;
    if (!this.prng.chance(0.02)) {
      this.after(lateMs + this.prng.integer(this.rhythm.delayMsMax), deliver);
    }
  }

  /** Returns who answers for a replica of an attempt; undefined if its agent is dead. */
  reach(attempt: number, index: number): Agent | undefined {
    const reached = this.agents.filter(
      (agent) => agent.isAlive && agent.index === index && (agent.attempt === attempt || !this.has('secret')),
    );
    return reached[this.prng.integer(reached.length)];
  }

  /** Returns the manifest that was written; undefined if another writer was faster than the one that expects this. */
  write(expected: Manifest, { attempt, steps }: Omit<Manifest, 'generation'>): Manifest | undefined {
    const current = this.#manifest;
    if (this.has('fence') && current.generation !== expected.generation) {
      return undefined;
    }
    if (attempt < current.attempt) {
      this.violations.push(`attempt ${attempt} replaced the set of attempt ${current.attempt}`);
    }
    if (Math.max(...steps) < Math.max(...current.steps)) {
      this.violations.push(`the set of step ${current.steps} was lost to one of step ${steps}`);
    }
    this.#manifest = { attempt, steps, generation: current.generation + 1 };
    return this.#manifest;
  }

  /** Runs what is due until then. */
  run(untilMs: number): void {
    for (;;) {
      const dueAt = Math.min(...this.#timeline.map((entry) => entry.dueAt));
      if (dueAt > untilMs) {
        return;
      }
      const index = this.#timeline.findIndex((entry) => entry.dueAt === dueAt);
      this.#now = dueAt;
      this.#timeline.splice(index, 1)[0]?.run();
    }
  }
}
