import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import type { BenchRow } from './bench-row.ts';
import { type EmptyHops, startEmptyHops } from './empty-hops.ts';
import { median } from './median.ts';
import { createStopwatch, type Stopwatch, type Timestamps } from './stopwatch.ts';

/** Runs until the JIT has compiled the pipeline: the first run takes three times as long as the tenth. */
const WARM_UP_RUNS = 10;
const RUNS = 15;
const RATIO_MAX = 1.5;

/** Pause between runs, so that the last report is written and the bus is empty. */
const SETTLE_MS = 300;

/** Writes a model of 64 KiB without training and, as its last action, records the time. */
const PROGRAM = `
import os, sys, time
with open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'model.bin'), 'wb') as model:
    model.write(os.urandom(65536))
time.sleep(0.5)
with open(sys.argv[1], 'w') as file:
    file.write(str(time.time()))
os._exit(0)
`;

const uploadedSchema = z.object({ timeCreated: z.iso.datetime() });

type Run = Timestamps & {
  /** In whole milliseconds, rounded down, which can only increase the measured latency. */
  readonly finalizedAt: number;
  readonly programEndedAt: number;
  readonly twoHopsMs: number;
  readonly callAndHopMs: number;
  readonly hopMs: number;
};

/**
 * Runs jobs one after another in an embedded cloud. Before each job, measures messages through empty functions, so that
 * other load on the machine affects both.
 */
export async function benchPipelineLatency(environment: Environment): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  const stopwatch = createStopwatch();
  try {
    const { wrapPorts } = stopwatch;
    const options = { dataDir, config: {}, environment, writeLog: () => undefined, wrapPorts };
    const cloud = await startEmbeddedCloud(options);
    const hops = await startEmptyHops(dataDir);
    try {
      const runs: Run[] = [];
      const bench = { dataDir, stopwatch, hops, endpoints: cloud.endpoints };
      for (let count = 0; count < WARM_UP_RUNS + RUNS; count += 1) {
        runs.push(await measureRun(bench, `bench_${count}`));
      }
      return rowsOf(runs.slice(WARM_UP_RUNS));
    } finally {
      await hops.stop();
      await cloud.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

type Bench = {
  readonly dataDir: string;
  readonly stopwatch: Stopwatch;
  readonly hops: EmptyHops;
  readonly endpoints: Endpoints;
};

async function measureRun({ dataDir, stopwatch, hops, endpoints }: Bench, jobId: string): Promise<Run> {
  const twoHopsMs = await hops.measureTwoHops();
  const floor = await hops.measureCallAndHop();
  await delay(SETTLE_MS);
  const endFile = join(dataDir, `${jobId}.ended`);
  const finalizedAt = await upload(endpoints, {
    name: `${jobId}.tar.gz`,
    bytes: await packJob(dataDir, jobId, endFile),
  });
  const timestamps = await stopwatch.awaitClosed(jobId);
  const programEndedAt = Number(await readFile(endFile, 'utf8')) * 1_000;
  await delay(SETTLE_MS);
  return { ...timestamps, ...floor, finalizedAt, programEndedAt, twoHopsMs };
}

async function packJob(dataDir: string, jobId: string, endFile: string): Promise<Uint8Array> {
  const packageDir = join(dataDir, 'source', 'trainer');
  await mkdir(packageDir, { recursive: true });
  await writeFile(join(packageDir, '__init__.py'), '');
  await writeFile(join(packageDir, 'task.py'), PROGRAM);
  const trainingInput = { region: 'us-central1', pythonModule: 'trainer.task', args: [endFile] };
  const { bytes } = await buildSourceDistribution(packageDir, {
    extraFiles: { 'job.json': JSON.stringify({ jobId, trainingInput }) },
  });
  return bytes;
}

/** Uploads an object and returns the time it was finalized, according to its metadata: the start of the pipeline. */
async function upload(
  { storage, uploadBucket }: Endpoints,
  { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
): Promise<number> {
  const url = `${storage}/upload/storage/v1/b/${uploadBucket}/o?uploadType=media&name=${name}`;
  const response = await fetch(url, { method: 'POST', body: Buffer.from(bytes) });
  if (!response.ok) {
    throw new Error(`The upload of ${name} failed: ${response.status} ${await response.text()}`);
  }
  return Date.parse(uploadedSchema.parse(await response.json()).timeCreated);
}

function rowsOf(runs: readonly Run[]): BenchRow[] {
  const agentMs = median(runs.map((run) => run.exitReceivedAt - run.programEndedAt));
  const vmEndMs = median(runs.map((run) => run.vmGoneAt - run.deletionRequestedAt));
  const split = `agent ${agentMs.toFixed(0)} ms, termination of the VM's processes ${vmEndMs.toFixed(0)} ms`;
  return [
    compare(runs, {
      name: 'upload finalized -> VM requested (floor: 2 empty hops)',
      measure: (run) => run.vmRequestedAt - run.finalizedAt,
      floor: (run) => run.twoHopsMs,
    }),
    compare(runs, {
      name: `program exit -> VM gone, job closed; ${split} (floor: empty call and hop)`,
      measure: (run) => run.closedAt - run.programEndedAt,
      floor: (run) => run.callAndHopMs,
    }),
    compare(runs, {
      name: 'of which control plane: exit received -> deletion requested, VM gone -> job closed (floor: 1 empty hop)',
      measure: (run) => run.deletionRequestedAt - run.exitReceivedAt + (run.closedAt - run.vmGoneAt),
      floor: (run) => run.hopMs,
    }),
  ];
}

type Comparison = {
  readonly name: string;
  readonly measure: (run: Run) => number;
  readonly floor: (run: Run) => number;
};

function compare(runs: readonly Run[], { name, measure, floor }: Comparison): BenchRow {
  const [measuredMs, floorMs] = [median(runs.map(measure)), median(runs.map(floor))];
  const ratio = measuredMs / floorMs;
  return {
    name,
    measured: `${measuredMs.toFixed(1)} ms`,
    floor: `${floorMs.toFixed(1)} ms`,
    ratio,
    goal: `time <= ${RATIO_MAX}`,
    isMet: ratio <= RATIO_MAX,
  };
}
