import { type EngineUnderTest, startEngineUnderTest } from '../test/support/containers/engine-under-test.ts';
import { startRegistryUnderTest } from '../test/support/containers/registry-under-test.ts';
import { buildTestImage } from '../test/support/containers/test-image.ts';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';

const PAIRS = 7;
const WORK_SECONDS = 8;
const OVERHEAD_MAX = 0.02;
const PULL_SECONDS_MAX = 10;
const END_MS_MAX = 120_000;

/** Prints when it started, and how often it did the same work in a fixed time; without numpy, as in any image. */
const PROGRAM = `
import time
print('started', time.time(), flush=True)
def work():
    total = 0
    for number in range(20_000):
        total += number * number % 7
    return total
rounds, end = 0, time.perf_counter() + ${WORK_SECONDS}
begun = time.perf_counter()
while time.perf_counter() < end:
    work()
    rounds += 1
print('rate', rounds / (time.perf_counter() - begun), flush=True)
`;

type Run = { readonly startSeconds: number; readonly rate: number };

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
    const pairs: { readonly contained: Run; readonly plain: Run }[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const contained = await run(cloud, `contained_${pair}`, container);
      const plain = await run(cloud, `plain_${pair}`, { module: 'trainer.task', packages });
      pairs.push({ contained, plain });
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
  return { startSeconds: number(/^started ([\d.]+)$/m) - submittedAt, rate: number(/^rate ([\d.]+)$/m) };
}

function rowsOf(
  kind: string,
  first: Run,
  pairs: readonly { readonly contained: Run; readonly plain: Run }[],
): BenchRow[] {
  const ratios = pairs.map(({ contained, plain }) => plain.rate / contained.rate).toSorted((a, b) => a - b);
  const overhead = medianOf(ratios) - 1;
  const start = medianOf(pairs.map(({ contained }) => contained.startSeconds));
  const floor = medianOf(pairs.map(({ plain }) => plain.startSeconds));
  const percent = (fraction: number) => `${(100 * fraction).toFixed(1)} %`;
  const spread = `${percent((ratios[0] ?? 0) - 1)} to ${percent((ratios.at(-1) ?? 0) - 1)}`;
  return [
    {
      name: `${kind}: overhead of a container on a CPU-bound program, median of ${PAIRS} pairs (${spread})`,
      measured: percent(overhead),
      floor: '0 %',
      ratio: 1 + overhead,
      goal: `<= ${percent(OVERHEAD_MAX)}`,
      isMet: overhead <= OVERHEAD_MAX,
    },
    {
      name: `${kind}: submission to program, the image is pulled (floor: a package without requirements)`,
      measured: `${first.startSeconds.toFixed(1)} s`,
      floor: `${floor.toFixed(1)} s`,
      ratio: first.startSeconds / floor,
      goal: `<= ${PULL_SECONDS_MAX} s`,
      isMet: first.startSeconds <= PULL_SECONDS_MAX,
    },
    {
      name: `${kind}: submission to program, the image is on the machine (floor: a package without requirements)`,
      measured: `${start.toFixed(1)} s`,
      floor: `${floor.toFixed(1)} s`,
      ratio: start / floor,
      goal: '<= 2',
      isMet: start / floor <= 2,
    },
  ];
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
