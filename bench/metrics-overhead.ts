import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { configure, startCloud } from '../test/support/agent/vm-agent-cloud.ts';
import { createMachine } from '../test/support/agent/vm-agent-local-machine.ts';
import { makeSdist } from '../test/support/agent/vm-agent-package.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';

const ROUNDS = 3;
const RUN_SECONDS = 20;
const RATES = [1, 100, 1_000] as const;
const OVERHEAD_MAX = 0.01;
const METRIC_OBJECT = /\/o\?.*dropforge-metrics/;
const WRITES_COUNT_MAX = 6;

/**
 * Keeps every core busy, and reports metrics at a rate from one of the processes. Writes what it computed, the CPU time
 * of writing the reports, and that of the agent, which is its parent.
 */
const PROGRAM = `
import json, multiprocessing, os, time
RATE, SECONDS = int(os.environ['BENCH_RATE']), ${RUN_SECONDS}

def agent_seconds():
    with open(f'/proc/{os.getppid()}/stat') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

def compute(end, counts):
    count = 0
    while time.time() < end:
        sum(number * number % 7 for number in range(2_000))
        count += 1
    counts.put(count)

end, counts = time.time() + SECONDS, multiprocessing.Queue()
others = [multiprocessing.Process(target=compute, args=(end, counts)) for _ in range(os.cpu_count() - 1)]
for one in others:
    one.start()
agent, count, written, writing, start = agent_seconds(), 0, 0, 0.0, time.time()
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a', buffering=1) as file:
    while time.time() < end:
        sum(number * number % 7 for number in range(2_000))
        count += 1
        began = time.thread_time()
        while written < RATE * (time.time() - start):
            file.write(f'{{"step": {written}, "loss": {1 / (written + 1)}, "accuracy": 0.5}}\\n')
            written += 1
        writing += time.thread_time() - began
agent = agent_seconds() - agent
count += sum(counts.get() for _ in others)
with open(os.environ['BENCH_FILE'], 'w') as file:
    json.dump({'count': count, 'written': written, 'writing': writing, 'agent': agent}, file)
`;

type Run = {
  readonly count: number;
  readonly writing: number;
  /** CPU seconds. */
  readonly agent: number;
  readonly writeCount: number;
  readonly writeBytes: number;
};

/**
 * Measures what metrics cost a program on a machine whose cores are all busy: the throughput of runs with and without
 * reports in turn, and the CPU time of the agent, which other processes of this machine do not change.
 */
export async function benchMetricsOverhead(): Promise<BenchRow[]> {
  const runs = new Map<number, Run[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const rate of [0, ...RATES]) {
      runs.set(rate, [...(runs.get(rate) ?? []), await measure(rate)]);
    }
  }
  const none = runs.get(0) ?? [];
  return RATES.flatMap((rate) => {
    const some = runs.get(rate) ?? [];
    return [...toRows(rate, some, none), toWritesRow(rate, some)];
  });
}

async function measure(rate: number): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-bench-metrics-'));
  const cloud = await startCloud();
  const machine = await createMachine(cloud);
  const writes = { writeCount: 0, writeBytes: 0 };
  cloud.intercept = (request) => {
    if (request.method === 'POST' && METRIC_OBJECT.test(decodeURIComponent(request.url))) {
      writes.writeCount += 1;
      writes.writeBytes += Number(request.headers.get('content-length'));
    }
    return undefined;
  };
  try {
    const file = join(folder, 'result');
    configure(cloud, [await makeSdist(PROGRAM)], ({ spec }) => ({
      spec: { ...spec, environment: { BENCH_FILE: file, BENCH_RATE: String(rate) } },
      // Those of Google Cloud.
      intervals: { heartbeatSeconds: 20, syncSeconds: 30, logSeconds: 5 },
    }));
    await once(machine.boot(), 'exit');
    return { ...(JSON.parse(await readFile(file, 'utf8')) as Pick<Run, 'count' | 'writing' | 'agent'>), ...writes };
  } finally {
    await machine.remove();
    await cloud.close();
    await rm(folder, { recursive: true });
  }
}

function toRows(rate: number, some: readonly Run[], none: readonly Run[]): readonly BenchRow[] {
  const coreSeconds = RUN_SECONDS * cpus().length;
  const throughput = median(some.map(({ count }, index) => count / (none[index]?.count ?? Number.NaN)));
  const agentSeconds = median(some.map(({ agent }) => agent));
  const agentFraction = (agentSeconds - median(none.map(({ agent }) => agent))) / coreSeconds;
  const writing = median(some.map(({ writing: seconds }) => seconds));
  const lines = `${rate} metrics lines a second, ${cpus().length} cores busy`;
  return [
    {
      name: `${lines}: throughput of the program (floor: without metrics; ${ROUNDS} alternating runs)`,
      measured: `${median(some.map(({ count }) => count)).toFixed(0)}`,
      floor: `${median(none.map(({ count }) => count)).toFixed(0)}`,
      ratio: throughput,
      goal: `throughput >= ${1 - OVERHEAD_MAX}`,
      isMet: throughput >= 1 - OVERHEAD_MAX,
    },
    {
      name: `${lines}: the agent's own CPU (floor: of all cores; the program's writes take ${writing.toFixed(2)} s)`,
      measured: `${agentSeconds.toFixed(2)} s`,
      floor: `${coreSeconds} s`,
      ratio: agentFraction,
      goal: `more than without metrics <= ${OVERHEAD_MAX}`,
      isMet: agentFraction <= OVERHEAD_MAX,
    },
  ];
}

/** Each kind of series has an object, which is written at each sync, and before and after the output is saved. */
function toWritesRow(rate: number, runs: readonly Run[]): BenchRow {
  const writes = median(runs.map(({ writeCount }) => writeCount));
  const kilobytes = median(runs.map(({ writeBytes }) => writeBytes)) / 1_000;
  return {
    name: `${rate} metrics lines a second: writes of series to the bucket in a job of ${RUN_SECONDS} s`,
    measured: `${writes} (${kilobytes.toFixed(0)} KB)`,
    floor: '2',
    ratio: writes / 2,
    goal: `writes <= ${WRITES_COUNT_MAX}`,
    isMet: writes <= WRITES_COUNT_MAX,
  };
}
