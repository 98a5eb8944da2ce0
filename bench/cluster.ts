import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { createUser, packProgram, until } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';
import { type CallCounter, createCallCounter } from './billed-calls.ts';
import { median } from './median.ts';

const SIZES = [4, 16, 32] as const;
const LARGEST = 32;
const ROUNDS = 3;
const START_MS_MAX = 600_000;

/** The goal of a machine with as many cores as replicas. */
const START_RATIO_MIN = 2;

/** How much shorter the intervals are than those on Google Cloud: 20 s, 30 s, 5 s, and 3 minutes for the reconciler. */
const SPEED_UP = 20;
const TIMEOUTS = { heartbeatMs: 1_000, syncMs: 1_500, logMs: 250, watchMs: 9_000, sweepMs: 9_000, leaseMs: 300_000 };

const WINDOW_MS = 4 * TIMEOUTS.watchMs;

/** The control plane costs a cluster no more than as many jobs with one replica, give or take a heartbeat. */
const RATE_RATIO_MAX = 1.1;

/** Records when it started, prints a line, and runs until it is stopped. */
const PROGRAM = `
import os, sys, time
with open(os.path.join(sys.argv[1], os.environ.get('RANK', '0')), 'w') as file:
    file.write(str(time.time()))
print('started', flush=True)
time.sleep(3600)
`;

/** For each replica and hour of intervals as on Google Cloud. */
type Rates = { readonly cpuSeconds: number } & ReturnType<CallCounter['take']>;

type Run = { readonly startMs: number; readonly rates: Rates | null };

/**
 * Clusters of programs that only print, next to a job with one replica: the time from a submission until all programs
 * have started, and what a running replica costs the control plane. The replicas share the cores of this machine, which
 * a cluster of VMs does not, so that the ratios of start times are upper bounds.
 */
export async function benchCluster(environment: Environment): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  const counter = createCallCounter();
  try {
    const config = { vmsMax: LARGEST, timeouts: TIMEOUTS };
    const { wrapPorts } = counter;
    const cloud = await startEmbeddedCloud({ dataDir, config, environment, writeLog: () => undefined, wrapPorts });
    try {
      const bench = { dataDir, counter, user: createUser(cloud.endpoints) };
      await measureRun(bench, { jobId: 'warm_up', size: 1, isRated: false });
      const runs = new Map<number, Run[]>();
      // In rounds, so that other load on the machine affects all sizes.
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const size of [1, ...SIZES]) {
          const isRated = round === 0 && (size === 1 || size === LARGEST);
          const run = await measureRun(bench, { jobId: `bench_${round}_${size}`, size, isRated });
          runs.set(size, [...(runs.get(size) ?? []), run]);
        }
      }
      return rowsOf(runs);
    } finally {
      await cloud.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

type Bench = {
  readonly dataDir: string;
  readonly counter: CallCounter;
  readonly user: ReturnType<typeof createUser>;
};

type Cluster = { readonly jobId: string; readonly size: number; readonly isRated: boolean };

async function measureRun(bench: Bench, { jobId, size, isRated }: Cluster): Promise<Run> {
  const { dataDir, user } = bench;
  const startedDir = join(dataDir, 'started', jobId);
  await mkdir(startedDir, { recursive: true });
  const job = { name: jobId, module: 'trainer.task', args: [startedDir], workers: size - 1 };
  const bytes = await packProgram(PROGRAM, job);
  const submittedAt = Date.now();
  await user.upload(`${jobId}.tar.gz`, bytes);
  const isStartedOrOver = ({ state }: JobView) => state !== 'QUEUED' && state !== 'PREPARING';
  const { state, cause } = await user.awaitJob(jobId, isStartedOrOver, START_MS_MAX);
  if (state !== 'RUNNING') {
    throw new Error(`The job ${jobId} is ${state}: ${cause?.message}`);
  }
  const areAllStarted = async () => ((await readdir(startedDir)).length === size ? true : undefined);
  await until(`${size} programs of ${jobId}`, areAllStarted, START_MS_MAX);
  const times = await Promise.all((await readdir(startedDir)).map((rank) => readFile(join(startedDir, rank), 'utf8')));
  const startMs = Math.max(...times.map(Number)) * 1_000 - submittedAt;
  const rates = isRated ? await measureRates(bench.counter, size) : null;
  await user.cancel(jobId);
  await user.awaitJob(jobId, undefined, START_MS_MAX);
  return { startMs, rates };
}

/** The CPU time is that of this process: the functions, and the emulated services that they call. */
async function measureRates(counter: CallCounter, size: number): Promise<Rates> {
  // The last messages of the start are handled before.
  await delay(TIMEOUTS.watchMs);
  counter.take();
  const before = process.cpuUsage();
  await delay(WINDOW_MS);
  const { user, system } = process.cpuUsage(before);
  const { reads, writes, messages } = counter.take();
  const perHour = (amount: number) => (amount * 3_600_000) / (WINDOW_MS * SPEED_UP) / size;
  return {
    cpuSeconds: perHour((user + system) / 1e6),
    reads: perHour(reads),
    writes: perHour(writes),
    messages: perHour(messages),
  };
}

function rowsOf(runs: ReadonlyMap<number, readonly Run[]>): BenchRow[] {
  const startOf = (size: number) => median((runs.get(size) ?? []).map(({ startMs }) => startMs)) / 1_000;
  const ratesOf = (size: number) => runs.get(size)?.[0]?.rates ?? null;
  const [rates, floor] = [ratesOf(LARGEST), ratesOf(1)];
  const starts = SIZES.map((size) => compareStart(size, startOf(size), startOf(1)));
  if (rates === null || floor === null) {
    return starts;
  }
  const names = ['cpuSeconds', 'reads', 'writes', 'messages'] as const;
  return [...starts, ...names.map((name) => compareRate(name, rates[name], floor[name]))];
}

/** All VMs are processes of this machine: at most as long as if each core started its share one after another. */
function compareStart(size: number, seconds: number, floorSeconds: number): BenchRow {
  const ratioMax = Math.max(START_RATIO_MIN, size / availableParallelism());
  const ratio = seconds / floorSeconds;
  return {
    name: `submission -> all programs of ${size} replicas started (floor: of one replica)`,
    measured: `${seconds.toFixed(2)} s`,
    floor: `${floorSeconds.toFixed(2)} s`,
    ratio,
    goal: `time <= ${ratioMax}`,
    isMet: ratio <= ratioMax,
  };
}

function compareRate(name: keyof Rates, rate: number, floor: number): BenchRow {
  const what = name === 'cpuSeconds' ? 'CPU seconds' : name;
  const ratio = rate === floor ? 1 : rate / floor;
  return {
    name: `${what} of the control plane for each of ${LARGEST} running replicas, an hour (floor: for one)`,
    measured: rate.toFixed(1),
    floor: floor.toFixed(1),
    ratio,
    goal: `${what} <= ${RATE_RATIO_MAX}`,
    isMet: ratio <= RATE_RATIO_MAX,
  };
}
