import { type EngineUnderTest, startEngineUnderTest } from '../test/support/containers/engine-under-test.ts';
import { startRegistryUnderTest } from '../test/support/containers/registry-under-test.ts';
import { buildTestImage } from '../test/support/containers/test-image.ts';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';

const PAIRS = 15;
/**
 * The ranks, from 0, between which the median of 15 lies with a probability of 96.5 %: the binomial distribution with
 * p = 1/2, whatever the distribution of the measurements.
 */
const MEDIAN_RANKS = [3, 11] as const;
const WORK_SECONDS = 8;
const OVERHEAD_MAX = 0.02;
const PULL_SECONDS_MAX = 10;
const END_MS_MAX = 120_000;

/**
 * Keeps every core busy, so that what the engine and the agent compute beside it slows it down. Prints when it started,
 * the work done in each second, and in each second of CPU time; without numpy, as in any image.
 */
const PROGRAM = `
import multiprocessing, os, time
def work(end, results):
    count, started = 0, time.process_time()
    while time.perf_counter() < end:
        sum(number * number % 7 for number in range(20_000))
        count += 1
    results.put((count, time.process_time() - started))

if __name__ == '__main__':
    print('started', time.time(), flush=True)
    begun, results = time.perf_counter(), multiprocessing.SimpleQueue()
    arguments = (begun + ${WORK_SECONDS}, results)
    workers = [multiprocessing.Process(target=work, args=arguments) for _ in range(os.cpu_count())]
    for worker in workers:
        worker.start()
    counts, seconds = zip(*[results.get() for _ in workers])
    print('rate', sum(counts) / (time.perf_counter() - begun), flush=True)
    print('cpu rate', sum(counts) / sum(seconds), flush=True)
`;

type Run = { readonly startSeconds: number; readonly rate: number; readonly cpuRate: number };

type Pair = { readonly contained: Run; readonly plain: Run };

/** One program, in a container and as a package, with the same Python; pairs, since a machine's speed drifts. */
export async function benchContainers(): Promise<BenchRow[]> {
  const engine = await startEngineUnderTest();
  if (engine === null) {
    return [];
  }
  try {
    return await measure(engine);
  } finally {
    await engine.stop();
  }
}

async function measure(engine: EngineUnderTest): Promise<BenchRow[]> {
  const registry = await startRegistryUnderTest();
  const pinned = await registry.push(engine, await buildTestImage(engine, 'python'), 'team/python');
  const environment = {
    ...process.env,
    // The interpreter of the image.
    PATH: `/usr/bin:${process.env.PATH}`,
    DROPFORGE_ENGINE_ENVIRONMENT: JSON.stringify(engine.environment),
  };
  const cloud = await startCloudUnderTest({}, { environment });
  try {
    await cloud.upload('bench.tar.gz', await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': PROGRAM }));
    const image = pinned.replace(/@.*/, ':latest');
    const packages = [`gs://${cloud.endpoints.uploadBucket}/bench.tar.gz`];
    const container = { image, command: ['python3', '-c', PROGRAM] };
    const first = await run(cloud, 'pulled', container);
    const pairs: Pair[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const runContained = () => run(cloud, `contained_${pair}`, container);
      const runPlain = () => run(cloud, `plain_${pair}`, { module: 'trainer.task', packages });
      // In turn first and second, so that a drift of the machine's speed favors neither.
      if (pair % 2 === 0) {
        const contained = await runContained();
        pairs.push({ contained, plain: await runPlain() });
      } else {
        const plain = await runPlain();
        pairs.push({ contained: await runContained(), plain });
      }
    }
    return rowsOf(engine.kind, first, pairs);
  } finally {
    await cloud.stop();
    await registry.stop();
  }
}

async function run(cloud: CloudUnderTest, name: string, job: object): Promise<Run> {
  const submittedAt = Date.now() / 1_000;
  await cloud.publish('dropforge-submit', { name, region: 'us-central1', ...job });
  const ended = await cloud.awaitJob(name, undefined, END_MS_MAX);
  const log = (await cloud.readLog(name)).map(({ text }) => text).join('\n');
  const number = (pattern: RegExp) => Number(pattern.exec(log)?.[1] ?? Number.NaN);
  if (ended.state !== 'SUCCEEDED') {
    throw new Error(`The job ${name} is ${ended.state}: ${JSON.stringify(ended.cause)}\n${log}`);
  }
  return {
    startSeconds: number(/^started ([\d.]+)$/m) - submittedAt,
    rate: number(/^rate ([\d.]+)$/m),
    cpuRate: number(/^cpu rate ([\d.]+)$/m),
  };
}

function rowsOf(kind: string, first: Run, pairs: readonly Pair[]): BenchRow[] {
  const start = medianOf(pairs.map(({ contained }) => contained.startSeconds));
  const floor = medianOf(pairs.map(({ plain }) => plain.startSeconds));
  const packageStart = `${floor.toFixed(1)} s`;
  return [
    toOverheadRow(`${kind}: throughput lost in a container, all cores busy`, pairs, ({ rate }) => rate),
    toOverheadRow(`${kind}: work lost per CPU second in a container`, pairs, ({ cpuRate }) => cpuRate),
    {
      name: `${kind}: submission to program, the image is pulled (floor: a package without requirements)`,
      measured: `${first.startSeconds.toFixed(1)} s`,
      floor: packageStart,
      ratio: first.startSeconds / floor,
      goal: `<= ${PULL_SECONDS_MAX} s`,
      isMet: first.startSeconds <= PULL_SECONDS_MAX,
    },
    {
      name: `${kind}: submission to program, the image is on the machine (floor: a package without requirements)`,
      measured: `${start.toFixed(1)} s`,
      floor: packageStart,
      ratio: start / floor,
      goal: '<= 2',
      isMet: start / floor <= 2,
    },
  ];
}

function toOverheadRow(name: string, pairs: readonly Pair[], rateOf: (run: Run) => number): BenchRow {
  const overheads = pairs
    .map(({ contained, plain }) => rateOf(plain) / rateOf(contained) - 1)
    .toSorted((left, right) => left - right);
  const [low, high] = MEDIAN_RANKS.map((rank) => overheads[rank] ?? Number.NaN) as [number, number];
  const overhead = medianOf(overheads);
  return {
    name: `${name}, median of ${pairs.length} pairs; with 96 % probability ${percent(low)} to ${percent(high)}`,
    measured: percent(overhead),
    floor: '0 %',
    ratio: 1 + overhead,
    goal: `<= ${percent(OVERHEAD_MAX)}`,
    isMet: high <= OVERHEAD_MAX ? true : low > OVERHEAD_MAX ? false : null,
  };
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
