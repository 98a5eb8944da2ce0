import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedCloud } from '#infra/embedded/embedded-cloud.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { createUser, packProgram } from '../test/support/e2e/cloud-under-test.ts';
import type { BenchRow } from './bench-row.ts';
import { type BilledCalls, createCallCounter } from './billed-calls.ts';
import { median } from './median.ts';
import { createStopwatch } from './stopwatch.ts';

const WARM_UP_JOBS = 5;
const JOBS = 10;
const TRIALS = 20;
const TIME_RATIO_MAX = 2;
const CALLS_RATIO_MAX = 2;

/** Pause after a job, so that its last messages are handled and counted. */
const SETTLE_MS = 500;

/** Reports one measurement, of a parameter if there is one. */
const PROGRAM = `
import json, os, sys
rate = float(next((arg.split('=')[1] for arg in sys.argv if arg.startswith('--rate=')), 0))
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write(json.dumps({'step': 1, 'accuracy': -(rate - 0.3) ** 2}) + '\\n')
`;

/**
 * Compares the trials of a tuning, one at a time, with plain jobs of the same program: the time from the end of one
 * trial until the VM of the next is requested with that from an upload until its VM is requested, and what the control
 * plane reads, writes and publishes for each. Heartbeats are part of both.
 */
export async function benchTuningPipeline(environment: Environment): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  const stopwatch = createStopwatch();
  const counter = createCallCounter();
  try {
    const cloud = await startEmbeddedCloud({
      dataDir,
      config: {},
      environment,
      writeLog: () => undefined,
      wrapPorts: (ports) => counter.wrapPorts(stopwatch.wrapPorts(ports)),
    });
    try {
      const user = createUser(cloud.endpoints);
      const bench = { user, stopwatch, counter };
      const jobs: Measured[] = [];
      for (let count = 0; count < WARM_UP_JOBS + JOBS; count += 1) {
        jobs.push(await measureJob(bench, `bench_${count}`));
      }
      return rowsOf(jobs.slice(WARM_UP_JOBS), await measureTuning(bench));
    } finally {
      await cloud.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

type Bench = {
  readonly user: ReturnType<typeof createUser>;
  readonly stopwatch: ReturnType<typeof createStopwatch>;
  readonly counter: ReturnType<typeof createCallCounter>;
};

/** Milliseconds until the VM was requested, and what was billed for one job or trial. */
type Measured = { readonly requestMs: readonly number[]; readonly calls: BilledCalls };

async function measureJob({ user, stopwatch, counter }: Bench, jobId: string): Promise<Measured> {
  const file = { jobId, trainingInput: { region: 'us-central1', pythonModule: 'trainer.task' } };
  const bytes = await packProgram(PROGRAM, file);
  await delay(SETTLE_MS);
  counter.take();
  const uploadedAt = performance.timeOrigin + performance.now();
  await user.upload(`${jobId}.tar.gz`, bytes);
  const { vmRequestedAt } = await stopwatch.awaitClosed(jobId);
  await delay(SETTLE_MS);
  return { requestMs: [vmRequestedAt - uploadedAt], calls: counter.take() };
}

async function measureTuning({ user, stopwatch, counter }: Bench): Promise<Measured> {
  const hyperparameters = {
    goal: 'MAXIMIZE',
    hyperparameterMetricTag: 'accuracy',
    maxTrials: TRIALS,
    maxParallelTrials: 1,
    params: [{ parameterName: 'rate', type: 'DOUBLE', minValue: 0, maxValue: 1 }],
  };
  const trainingInput = { region: 'us-central1', pythonModule: 'trainer.task', hyperparameters };
  await user.upload('study.tar.gz', await packProgram(PROGRAM, { jobId: 'study', trainingInput }));
  const ids = Array.from({ length: TRIALS }, (_, index) => `study_trial_${index + 1}`);
  const times = await Promise.all(ids.map((jobId) => stopwatch.awaitClosed(jobId)));
  await delay(SETTLE_MS);
  const { reads, writes, messages } = counter.take();
  const requestMs = times.slice(1).map(({ vmRequestedAt }, index) => vmRequestedAt - (times[index]?.closedAt ?? 0));
  return { requestMs, calls: { reads: reads / TRIALS, writes: writes / TRIALS, messages: messages / TRIALS } };
}

function rowsOf(jobs: readonly Measured[], trials: Measured): BenchRow[] {
  const [trialMs, jobMs] = [median(trials.requestMs), median(jobs.flatMap(({ requestMs }) => requestMs))];
  const ratio = trialMs / jobMs;
  return [
    {
      name: 'end of a trial -> VM of the next requested (floor: upload of a plain job -> VM requested)',
      measured: `${trialMs.toFixed(1)} ms`,
      floor: `${jobMs.toFixed(1)} ms`,
      ratio,
      goal: `time <= ${TIME_RATIO_MAX}`,
      isMet: ratio <= TIME_RATIO_MAX,
    },
    ...(['reads', 'writes', 'messages'] as const).map((name) => compareCalls(name, jobs, trials)),
  ];
}

function compareCalls(name: keyof BilledCalls, jobs: readonly Measured[], trials: Measured): BenchRow {
  const floor = median(jobs.map(({ calls }) => calls[name]));
  const ratio = trials.calls[name] / floor;
  return {
    name: `${name} of the control plane for each of ${TRIALS} trials (floor: for a plain job)`,
    measured: trials.calls[name].toFixed(1),
    floor: floor.toFixed(1),
    ratio,
    goal: `${name} <= ${CALLS_RATIO_MAX}`,
    isMet: ratio <= CALLS_RATIO_MAX,
  };
}
