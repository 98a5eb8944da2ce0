import { type Agent, type JointSetMechanism, type Manifest, SimulatedCluster } from './simulated-cluster.ts';

type Phase = 'PREPARE' | 'CONFIRM' | 'UPLOAD';
type Question = { readonly round: number; readonly phase: Phase; readonly reply: (value: number) => void };

/** The answer of a replica whose shard has changed since its snapshot. */
const CHANGED = -1;
const ROUND_MS_MAX = 2_000;
const PAUSE_BETWEEN_ROUNDS_MS = 50;
const ATTEMPTS = 4;
const LAST_ATTEMPT_MS = 20_000;

/**
 * Runs some attempts of one job whose replicas rewrite their shards in place, and whose agents save these as joint
 * sets; the same seed gives the same run. Modelled are the messages of a round, which are delayed and lost; replicas
 * and masters that die between any two of them; earlier attempts that run on, as only the control plane cannot reach
 * them; the claim and the commit of the manifest; and the restore of each replica.
 *
 * Left out are single files: a snapshot of one replica is consistent (`infra/vm-agent/tests/test_checkpoints.py`), and
 * of files that have been quiet for as long as the replicas begin a save apart (docs/adr/0025 has the limits of that).
 * So are lost answers of Cloud Storage (`test_transfers.py` there), the last save of a stopped program, files that
 * never rest, frameworks' indexes, and changes of the number of replicas.
 */
export function runSavingCluster(seed: number, without: readonly JointSetMechanism[] = []): SimulatedCluster {
  const cluster = new SimulatedCluster(seed, without);
  let endsAt = 0;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const agents = Array.from({ length: cluster.replicaCount }, (_, index) => createAgent(attempt, index));
    cluster.after(endsAt, () => startAttempt(cluster, agents));
    const faultAt = endsAt + cluster.prng.integer(15_000);
    if (attempt < ATTEMPTS) {
      interrupt(cluster, agents, faultAt);
    }
    endsAt = faultAt + cluster.prng.integer(3_000);
  }
  cluster.run(endsAt + LAST_ATTEMPT_MS);
  return cluster;
}

function createAgent(attempt: number, index: number): Agent {
  const shard = { step: 0, version: 0, isWriting: false, changedAt: 0 };
  return { attempt, index, shard, isAlive: true, restored: undefined, round: 0, snapshot: { step: 0, version: -1 } };
}

/** One replica is lost, or only the connection to the control plane; all VMs are deleted some time later. */
function interrupt(cluster: SimulatedCluster, agents: readonly Agent[], faultAt: number): void {
  const lost = agents[cluster.prng.integer(2 * agents.length)];
  cluster.after(faultAt, () => kill(lost));
  cluster.after(faultAt + cluster.prng.integer(12_000), () => agents.forEach(kill));
}

function kill(agent: Agent | undefined): void {
  if (agent !== undefined) {
    agent.isAlive = false;
  }
}

function startAttempt(cluster: SimulatedCluster, agents: readonly Agent[]): void {
  cluster.agents.push(...agents);
  for (const agent of agents) {
    cluster.after(cluster.prng.integer(2_000), () => {
      if (agent.index === 0) {
        claim(cluster, agent, (claimed) => {
          restore(agent, claimed);
          new Master(cluster, agent, claimed).startRound();
        });
      } else {
        const isClaimed = () => cluster.manifest.attempt >= agent.attempt || !cluster.has('claimFirst');
        cluster.when(agent, isClaimed, () => restore(agent, cluster.manifest));
      }
    });
  }
  const [master] = agents;
  if (master !== undefined) {
    const areRestored = () => agents.every(({ restored }) => restored !== undefined);
    cluster.when(master, areRestored, () => {
      train(cluster, agents, checkRestored(cluster, agents));
    });
  }
}

/** Calls when the directory belongs to the attempt of the agent; another writer may be faster several times. */
function claim(cluster: SimulatedCluster, agent: Agent, onClaimed: (claimed: Manifest) => void): void {
  const read = cluster.manifest;
  agent.isAlive &&= read.attempt < agent.attempt;
  cluster.after(cluster.prng.integer(cluster.rhythm.delayMsMax), () => {
    const claimed = agent.isAlive ? cluster.write(read, { attempt: agent.attempt, steps: read.steps }) : undefined;
    if (claimed !== undefined) {
      onClaimed(claimed);
    } else if (agent.isAlive) {
      claim(cluster, agent, onClaimed);
    }
  });
}

/** The agent of an attempt that is over ends: its master can commit nothing. */
function restore(agent: Agent, { attempt, steps }: Manifest): void {
  agent.isAlive &&= attempt <= agent.attempt;
  agent.restored = steps;
  agent.shard.step = steps[agent.index] ?? 0;
}

/** Returns the step from which the programs continue. */
function checkRestored(cluster: SimulatedCluster, agents: readonly Agent[]): number {
  const steps = agents.flatMap(({ restored }) => restored ?? []);
  if (agents.every(({ isAlive }) => isAlive) && new Set(steps).size > 1) {
    cluster.violations.push(`attempt ${agents[0]?.attempt} restored shards of the steps ${steps}`);
  }
  const step = Math.max(...steps);
  const newest = Math.max(0, ...cluster.sets.flatMap((set) => set.steps));
  if (step < newest) {
    cluster.violations.push(`attempt ${agents[0]?.attempt} restored step ${step} of ${newest}`);
  }
  return step;
}

/** The programs of an attempt: each writes its shard of a step, and all wait for the slowest, even if it is lost. */
function train(cluster: SimulatedCluster, agents: readonly Agent[], step: number): void {
  const { prng, rhythm } = cluster;
  const running = new Set(agents);
  for (const agent of agents) {
    const { shard } = agent;
    cluster.after(prng.integer(rhythm.skewMsMax), () => {
      Object.assign(shard, { isWriting: agent.isAlive, version: shard.version + 1 });
      cluster.after(prng.integer(rhythm.writeMsMax), () => {
        if (agent.isAlive) {
          Object.assign(shard, { step: step + 1, isWriting: false, changedAt: cluster.now });
          running.delete(agent);
        }
        if (running.size === 0) {
          cluster.after(rhythm.quietMs + prng.integer(rhythm.pauseMsMax), () => train(cluster, agents, step + 1));
        }
      });
    });
  }
}

/** Answers once the shard is at rest; never to a question of a round that is over. */
function answer(cluster: SimulatedCluster, agent: Agent, question: Question): void {
  const { reply } = question;
  const { shard } = agent;
  if (agent.restored === undefined || (cluster.has('roundNumbers') && question.round < agent.round)) {
    return;
  }
  agent.round = question.round;
  const isCurrent = () => agent.round === question.round || !cluster.has('roundNumbers');
  const isQuiet = () => !shard.isWriting && cluster.now - shard.changedAt > cluster.rhythm.quietMs;
  const takeSnapshot = (next: () => void) =>
    cluster.when(
      agent,
      () => isQuiet() || !isCurrent(),
      () => {
        if (isCurrent()) {
          agent.snapshot = { step: shard.step, version: shard.version };
          next();
        }
      },
    );
  const upload = () => {
    const { step } = agent.snapshot;
    cluster.after(cluster.prng.integer(cluster.rhythm.uploadMsMax), () => agent.isAlive && reply(step));
  };
  if (question.phase === 'PREPARE') {
    takeSnapshot(() => reply(0));
  } else if (question.phase === 'CONFIRM') {
    reply(agent.snapshot.version === shard.version && !shard.isWriting ? 0 : CHANGED);
  } else if (cluster.has('snapshots')) {
    upload();
  } else {
    takeSnapshot(upload);
  }
}

/** The rounds of the master's agent. */
class Master {
  readonly #cluster: SimulatedCluster;
  readonly #agent: Agent;
  readonly #phases: readonly Phase[];
  #written: Manifest;
  #round = 0;
  #phase: Phase | undefined;
  readonly #values = new Map<number, number>();

  constructor(cluster: SimulatedCluster, agent: Agent, claimed: Manifest) {
    this.#cluster = cluster;
    this.#agent = agent;
    this.#written = claimed;
    const first: readonly Phase[] = cluster.has('secondPhase') ? ['PREPARE', 'CONFIRM'] : ['PREPARE'];
    this.#phases = cluster.has('snapshots') ? [...first, 'UPLOAD'] : ['UPLOAD'];
  }

  startRound(): void {
    const round = this.#round + 1;
    this.#round = round;
    this.#ask(this.#phases[0]);
    this.#cluster.after(ROUND_MS_MAX, () => {
      if (this.#round === round && this.#phase !== undefined && this.#agent.isAlive) {
        this.startRound();
      }
    });
  }

  #ask(phase: Phase | undefined): void {
    this.#phase = phase;
    this.#values.clear();
    if (phase === undefined) {
      return;
    }
    const round = this.#round;
    for (let index = 0; index < this.#cluster.replicaCount; index += 1) {
      const reply = (value: number) => this.#cluster.send(() => this.#receive({ round, phase }, index, value));
      this.#cluster.send(() => {
        const replica = this.#cluster.reach(this.#agent.attempt, index);
        if (replica !== undefined) {
          answer(this.#cluster, replica, { round, phase, reply });
        }
      });
    }
  }

  #receive({ phase, round }: Pick<Question, 'round' | 'phase'>, from: number, value: number): void {
    const isCurrent = round === this.#round || !this.#cluster.has('roundNumbers');
    if (!this.#agent.isAlive || phase !== this.#phase || !isCurrent) {
      return;
    }
    if (value === CHANGED) {
      this.#pause();
      return;
    }
    this.#values.set(from, value);
    if (this.#values.size === this.#cluster.replicaCount) {
      const next = this.#phases[this.#phases.indexOf(phase) + 1];
      if (next === undefined) {
        this.#commit([...this.#values].sort(([a], [b]) => a - b).map(([, step]) => step));
      } else {
        this.#ask(next);
      }
    }
  }

  #pause(): void {
    this.#phase = undefined;
    this.#cluster.after(PAUSE_BETWEEN_ROUNDS_MS, () => this.startRound());
  }

  /** The request takes effect even if the master dies meanwhile. If refused, a later attempt owns the directory. */
  #commit(steps: readonly number[]): void {
    this.#phase = undefined;
    this.#cluster.after(this.#cluster.prng.integer(this.#cluster.rhythm.delayMsMax), () => {
      const written = this.#cluster.write(this.#written, { attempt: this.#agent.attempt, steps });
      if (written !== undefined) {
        this.#written = written;
        this.#cluster.sets.push(written);
        this.#pause();
      }
    });
  }
}
