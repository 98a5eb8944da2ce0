import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { viewOf } from '../cli/test-cloud.ts';
import { exampleMetric, exampleReading } from './example-series.ts';
import type { FixtureJob } from './fixture-api.ts';

const MINUTE = 60_000;

/** A job that trains for its second time, after a preemption in its sixth minute; it was created at `start`. */
export function interruptedJob(jobId: string, start: number): FixtureJob {
  const at = (minutes: number) => new Date(start + minutes * MINUTE).toISOString();
  const [first, second] = [start + 1.5 * MINUTE, start + 9 * MINUTE];
  const attempt = { zone: 'us-central1-a', provisioningModel: 'SPOT' } as const;
  const view: JobView = viewOf(jobId, {
    state: 'RUNNING',
    createTime: at(0),
    startTime: at(1.5),
    endTime: null,
    attempt: 2,
    labels: { team: 'vision', model: 'resnet50' },
    placement: { zone: 'us-central1-b', provisioningModel: 'SPOT', machineImage: 'gpu' },
    machines: [{ role: 'master', count: 1, machineType: 'n1-standard-8', accelerator: '2 x NVIDIA_TESLA_T4' }],
    price: { perHourUsd: 0.61, billedSeconds: 900, totalUsd: 0.1525, asOf: '2026-08-01' },
    timeline: [
      {
        ...attempt,
        attempt: 1,
        cause: 'PREEMPTED',
        message: 'Compute Engine preempted the VM.',
        phases: [
          { phase: 'QUEUED', startTime: at(0), endTime: at(0.4) },
          { phase: 'PREPARING', startTime: at(0.4), endTime: at(1.5) },
          { phase: 'RUNNING', startTime: at(1.5), endTime: at(7.5) },
        ],
      },
      {
        ...attempt,
        zone: 'us-central1-b',
        attempt: 2,
        cause: null,
        message: null,
        phases: [
          { phase: 'QUEUED', startTime: at(7.5), endTime: at(7.9) },
          { phase: 'PREPARING', startTime: at(7.9), endTime: at(9) },
          { phase: 'RUNNING', startTime: at(9), endTime: null },
        ],
      },
    ],
    replicas: [
      {
        ...{ role: 'master', index: 0, restarts: 0, exitCode: null, cause: null },
        ...{ replica: 'master-0', attempt: 2, vmName: 'vm', instanceId: '1', phase: 'RUNNING', heardTime: at(15) },
        ...{ cpuFraction: 0.7, memoryBytes: 2 ** 33, memoryBytesMax: 2 ** 35, diskBytes: null, gpus: [] },
        ...{ step: 1_380, stepsMax: 3_000, metrics: {} },
      },
    ],
  });
  const programs = [
    ['train/loss', { scale: 1 }],
    ['train/grad_norm', { scale: 3 }],
    ['train/images_per_s', { scale: -12, offset: 418 }],
    ['val/loss', { scale: 0.9, offset: 0.2 }],
    ['val/accuracy', { scale: -0.34, offset: 0.97 }],
    ['val/top5', { scale: -0.2, offset: 0.99 }],
  ] as const;
  const series = [
    ...programs.flatMap(([name, shape]) => [
      exampleMetric(name, { to: 720, start: first, ...shape }),
      exampleMetric(name, { attempt: 2, from: 640, to: 1_380, start: second, ...shape }),
    ]),
    ...[1, 2].flatMap((number) => systemSeries(number, number === 1 ? first : second)),
  ];
  return { view, series, log: exampleLog(jobId, start, 400) };
}

function systemSeries(attempt: number, start: number) {
  const common = { attempt, start, count: 36 };
  const gibibytes = { ...common, unit: 'bytes' };
  return [
    exampleReading('cpu/fraction', common),
    exampleReading('memory/used', { ...gibibytes, level: 9 * 2 ** 30, spread: 2 ** 29 }),
    exampleReading('memory/total', { ...gibibytes, level: 30 * 2 ** 30, spread: 0 }),
    exampleReading('network/received', { ...common, unit: 'bytes/second', level: 4e7, spread: 2e7 }),
    exampleReading('network/sent', { ...common, unit: 'bytes/second', level: 2e6, spread: 1e6 }),
    ...[0, 1].flatMap((gpu) => [
      exampleReading(`gpu/${gpu}/utilization`, { ...common, level: 0.9 - gpu * 0.2, spread: 0.08 }),
      exampleReading(`gpu/${gpu}/memory-used`, { ...gibibytes, level: (11 - gpu) * 2 ** 30, spread: 2 ** 28 }),
      exampleReading(`gpu/${gpu}/power`, { ...common, unit: 'watts', level: 64 - gpu * 6, spread: 4 }),
    ]),
  ];
}

/** A log of two attempts, with lines of the agent, warnings and errors. */
export function exampleLog(jobId: string, start: number, count: number): readonly LogEntry[] {
  return Array.from({ length: count }, (_, index): LogEntry => {
    const attempt = index < count / 2 ? 1 : 2;
    const isAgent = index % (count / 2) < 5;
    const isWarning = index % 97 === 50;
    return {
      ...{ jobId, attempt, replica: 'master-0', at: start + index * 2_000 },
      stream: isAgent ? 'agent' : 'stdout',
      severity: isWarning ? 'WARNING' : 'INFO',
      text: isAgent
        ? `Restored ${index} files.`
        : isWarning
          ? 'UserWarning: the learning rate scheduler was called before the optimizer.'
          : `step ${index} | loss ${(2 * Math.exp(-index / count)).toFixed(4)} | 412 images/s`,
    };
  });
}
