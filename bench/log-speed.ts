import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configure, startCloud } from '../test/support/agent/vm-agent-cloud.ts';
import { createMachine } from '../test/support/agent/vm-agent-local-machine.ts';
import { makeSdist } from '../test/support/agent/vm-agent-package.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';

const PAIRS = 5;
const RATIO_MAX = 1.2;
const LOG_BYTES_MAX = 256 * 2 ** 20;
const DISK_BYTES_MAX = 100 * 2 ** 30;

/** Each program records how long it took, up to its last write: two compute, and two print a million lines. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'a CPU-bound program without output': `
sum(number * number % 7 for number in range(30_000_000))
`,
  'a CPU-bound program that prints 400 lines a second': `
for number in range(3_000):
    sum(number * number % 7 for number in range(50_000))
    print('step', number, 'loss 0.3454 accuracy 0.9164')
`,
  '1e6 lines of Python, unbuffered': `
for number in range(1_000_000):
    print('step', number, 'loss 0.3454 accuracy 0.9164')
`,
  '1e6 lines of Python in blocks of 8 KiB': `
import io
out = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, 'w', closefd=False), 8192))
for number in range(1_000_000):
    print('step', number, 'loss 0.3454 accuracy 0.9164', file=out)
out.flush()
`,
};

const timed = (body: string) =>
  `import os, sys, time\nstarted_at = time.time()\n${body}\nopen(os.environ['BENCH_FILE'], 'w').write(str(time.time() - started_at))\n`;

/** Measures how long programs take under the agent, next to the same program piped into `cat`. */
export async function* benchLogSpeed(): AsyncGenerator<BenchRow> {
  for (const [name, body] of Object.entries(PROGRAMS)) {
    const pairs: Pair[] = [];
    for (let count = 0; count < PAIRS; count += 1) {
      pairs.push(await measurePair(timed(body)));
    }
    yield toRow(name, pairs);
  }
}

type Pair = { readonly agentSeconds: number; readonly bareSeconds: number };

async function measurePair(program: string): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-bench-logs-'));
  try {
    const bareSeconds = await runBare(program, folder);
    const agentSeconds = await runUnderAgent(program, folder);
    return { agentSeconds, bareSeconds };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runBare(program: string, folder: string): Promise<number> {
  await mkdir(join(folder, 'trainer'));
  await writeFile(join(folder, 'trainer', 'task.py'), program);
  const file = join(folder, 'bare');
  const env = { ...process.env, PYTHONUNBUFFERED: '1', BENCH_FILE: file };
  await once(spawn('sh', ['-c', 'python3 -m trainer.task | cat >/dev/null'], { cwd: folder, env }), 'exit');
  return Number(await readFile(file, 'utf8'));
}

async function runUnderAgent(program: string, folder: string): Promise<number> {
  const cloud = await startCloud();
  const machine = await createMachine(cloud);
  try {
    const file = join(folder, 'agent');
    configure(cloud, [await makeSdist(program)], ({ spec, limits }) => ({
      spec: { ...spec, environment: { BENCH_FILE: file } },
      limits: { ...limits, logBytesMax: LOG_BYTES_MAX, diskBytesMax: DISK_BYTES_MAX },
      intervals: { heartbeatSeconds: 15, syncSeconds: 10, logSeconds: 2 },
    }));
    await once(machine.boot(), 'exit');
    return Number(await readFile(file, 'utf8'));
  } finally {
    await machine.remove();
    await cloud.close();
  }
}

function toRow(name: string, pairs: readonly Pair[]): BenchRow {
  const ratio = median(pairs.map(({ agentSeconds, bareSeconds }) => agentSeconds / bareSeconds));
  return {
    name: `${name} (floor: the program piped into cat)`,
    measured: `${median(pairs.map(({ agentSeconds }) => agentSeconds)).toFixed(2)} s`,
    floor: `${median(pairs.map(({ bareSeconds }) => bareSeconds)).toFixed(2)} s`,
    ratio,
    goal: `time <= ${RATIO_MAX}`,
    isMet: ratio <= RATIO_MAX,
  };
}
