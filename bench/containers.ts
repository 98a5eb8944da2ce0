import { type EngineUnderTest, startEngineUnderTest } from '../test/support/containers/engine-under-test.ts';
import { startRegistryUnderTest } from '../test/support/containers/registry-under-test.ts';
import { buildTestImage } from '../test/support/containers/test-image.ts';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';

const STARTS = 5;
const PAIRS = 9;
/**
 * The ranks, from 0, between which the median of 9 lies with a probability of 96.1 %: the binomial distribution with
 * p = 1/2, whatever the distribution of the measurements.
 */
const MEDIAN_RANKS = [1, 7] as const;
const OVERHEAD_MAX = 0.02;
const PULL_SECONDS_MAX = 10;
const END_MS_MAX = 120_000;
/** From the submission of a pair until both have surely started. */
const HEAD_START_SECONDS = 6;
const WORK_SECONDS = 16;
/** Short against the drift of a shared machine's speed, long against a context switch. */
const TURN_SECONDS = 0.1;

/**
 * Prints when it started. With a turn, computes on every core whenever it is that turn, so that the two programs of a
 * pair meet the same machine, and prints the work done in each second of its turns, and of CPU time. Without numpy, as
 * in any image.
 */
const PROGRAM = `
import argparse, multiprocessing, os, time
def compute():
    return sum(number * number % 7 for number in range(1_000))

def work(turn, begin, results):
    count = seconds = cpu_seconds = 0
    for first in range(turn, int(${WORK_SECONDS} / ${TURN_SECONDS}), 2):
        start = begin + first * ${TURN_SECONDS}
        time.sleep(max(0, start - time.time()))
        compute()
        begun, cpu_begun = time.time(), time.process_time()
        while time.time() < start + ${TURN_SECONDS}:
            compute()
            count += 1
        seconds += max(0, time.time() - begun)
        cpu_seconds += time.process_time() - cpu_begun
    results.put((count, seconds, cpu_seconds))

if __name__ == '__main__':
    print('started', time.time(), flush=True)
    parser = argparse.ArgumentParser()
    parser.add_argument('--turn', type=int)
    parser.add_argument('--begin', type=float)
    options, _ = parser.parse_known_args()
    if options.turn is not None:
        assert time.time() < options.begin, 'started too late'
        results = multiprocessing.SimpleQueue()
        arguments = (options.turn, options.begin, results)
        workers = [multiprocessing.Process(target=work, args=arguments) for _ in range(os.cpu_count())]
        for worker in workers:
            worker.start()
        counts, seconds, cpu_seconds = map(sum, zip(*[results.get() for _ in workers]))
        print('rate', counts / seconds, flush=True)
        print('cpu rate', counts / cpu_seconds, flush=True)
`;

type Run = { readonly startSeconds: number; readonly rate: number; readonly cpuRate: number };

type Measured = { readonly first: Run; readonly starts: readonly Pair[]; readonly pairs: readonly Pair[] };

type Pair = { readonly contained: Run; readonly plain: Run };

/**
 * One program, in a container and as a package, with the same Python. The programs of a pair run at the same time and
 * compute in turns: one after the other, the machine's drift is larger than the overhead.
 */
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
    const plain = { module: 'trainer.task', packages };
    const first = await run(cloud, 'pulled', container);
    const starts: Pair[] = [];
    for (let start = 0; start < STARTS; start++) {
      const contained = await run(cloud, `start_contained_${start}`, container);
      starts.push({ contained, plain: await run(cloud, `start_plain_${start}`, plain) });
    }
    const pairs: Pair[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const begin = `--begin=${Date.now() / 1_000 + HEAD_START_SECONDS}`;
      const turn = pair % 2;
      const [ofContainer, ofPackage] = await Promise.all([
        run(cloud, `contained_${pair}`, { ...container, args: [`--turn=${turn}`, begin] }),
        run(cloud, `plain_${pair}`, { ...plain, args: [`--turn=${1 - turn}`, begin] }),
      ]);
      pairs.push({ contained: ofContainer, plain: ofPackage });
    }
    return rowsOf({ first, starts, pairs });
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

function rowsOf({ first, starts, pairs }: Measured): BenchRow[] {
  const start = median(starts.map(({ contained }) => contained.startSeconds));
  const floor = median(starts.map(({ plain }) => plain.startSeconds));
  const packageStart = `${floor.toFixed(1)} s`;
  return [
    toOverheadRow('throughput lost in a container, all cores busy', pairs, ({ rate }) => rate),
    toOverheadRow('work lost per CPU second in a container', pairs, ({ cpuRate }) => cpuRate),
    {
      name: 'submission to program, the image is pulled (floor: a package without requirements)',
      measured: `${first.startSeconds.toFixed(1)} s`,
      floor: packageStart,
      ratio: first.startSeconds / floor,
      goal: `<= ${PULL_SECONDS_MAX} s`,
      isMet: first.startSeconds <= PULL_SECONDS_MAX,
    },
    {
      name: 'submission to program, the image is on the machine (floor: a package without requirements)',
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
  const overhead = median(overheads);
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
