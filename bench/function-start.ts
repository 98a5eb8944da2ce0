import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bundle, bundleFunctions, writeBundle } from '#infra/tools/bundle-functions/bundle-function.ts';
import {
  firstResponse,
  peakMemoryBytes,
  pushBody,
  settingsAt,
  startBundle,
} from '../test/support/functions/bundle-process.ts';
import type { BenchRow } from './bench-row.ts';

/** Rounds are interleaved, so that other load affects all functions equally. The minimum counts, as load only adds. */
const ROUNDS = 9;

const PEAK_MEMORY_BYTES_MAX = 256 * 2 ** 20;
const RATIO_MAX = { plain: 1.5, compute: 2.5 };

const EMPTY = 'empty';
const EMPTY_SOURCE = `require.main.require('@google-cloud/functions-framework').cloudEvent('${EMPTY}', async (event) => {});`;

const MALFORMED = pushBody('not a message of this project');

/** A push without a message, because these functions would record a malformed message in a store. */
const EMPTY_PUSH = '{}';

/**
 * The request to each function: one that it answers without a Google service. `watch` would act on any valid request.
 */
const REQUESTS: Readonly<Record<string, string>> = {
  'on-submit': EMPTY_PUSH,
  'on-dead-letter': EMPTY_PUSH,
  watch: '{',
};

type Start = { readonly startMs: number; readonly peakBytes: number };

/**
 * Measures the time from the start of a function's process to its first response, and the peak memory until then.
 * Adapters are built, but no Google service is called. One-time steps of Cloud Build are done beforehand.
 */
export async function benchFunctionStart(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  try {
    const bundles = await bundleFunctions();
    await Promise.all(bundles.map((bundle) => writeBundle(bundle, directory)));
    await writeEmpty(directory);
    const starts = new Map<string, Start[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of [EMPTY, ...bundles.map((bundle) => bundle.name)]) {
        starts.set(name, [...(starts.get(name) ?? []), await measureStart(directory, name)]);
      }
    }
    const floor = leastOf(starts.get(EMPTY) ?? []);
    return bundles.flatMap((bundle) => rowsOf(bundle, leastOf(starts.get(bundle.name) ?? []), floor));
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function writeEmpty(directory: string): Promise<void> {
  await mkdir(join(directory, EMPTY));
  await writeFile(join(directory, EMPTY, 'index.js'), EMPTY_SOURCE);
  await cp(join(directory, 'watch', 'package.json'), join(directory, EMPTY, 'package.json'));
}

async function measureStart(directory: string, name: string): Promise<Start> {
  const startedAt = performance.now();
  const running = await startBundle(join(directory, name), name, settingsAt());
  try {
    await (await firstResponse(running, REQUESTS[name] ?? MALFORMED)).arrayBuffer();
    return { startMs: performance.now() - startedAt, peakBytes: await peakMemoryBytes(running) };
  } finally {
    await running.stop();
  }
}

function leastOf(starts: readonly Start[]): Start {
  return {
    startMs: Math.min(...starts.map(({ startMs }) => startMs)),
    peakBytes: Math.max(...starts.map(({ peakBytes }) => peakBytes)),
  };
}

function rowsOf({ name, inputs }: Bundle, { startMs, peakBytes }: Start, floor: Start): BenchRow[] {
  const hasCompute = inputs.some((path) => path.includes('@google-cloud/compute/'));
  const ratioMax = hasCompute ? RATIO_MAX.compute : RATIO_MAX.plain;
  const ratio = startMs / floor.startMs;
  const memoryRatio = peakBytes / PEAK_MEMORY_BYTES_MAX;
  return [
    {
      name: `start ${name} (floor: an empty function)`,
      measured: `${startMs.toFixed(0)} ms`,
      floor: `${floor.startMs.toFixed(0)} ms`,
      ratio,
      goal: `time <= ${ratioMax}`,
      isMet: ratio <= ratioMax,
    },
    {
      name: `start ${name}: peak memory`,
      measured: `${(peakBytes / 2 ** 20).toFixed(0)} MiB`,
      floor: `${PEAK_MEMORY_BYTES_MAX / 2 ** 20} MiB`,
      ratio: memoryRatio,
      goal: 'memory <= 1',
      isMet: memoryRatio <= 1,
    },
  ];
}
