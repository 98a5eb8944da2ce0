import { replicaOf, viewOf } from '../cli/test-cloud.ts';
import { causeOf } from './example-cause.ts';
import type { FixtureJob } from './fixture-api.ts';

const MINUTE = 60_000;
const TRAINER = 'us-central1-docker.pkg.dev/vision-platform/training/resnet-trainer:2026-11-20-cuda12';
const DIGESTS = ['3f', '9a'].map((pair) => `sha256:${pair.repeat(32)}`);

const at = (start: number, minutes: number) => new Date(start + minutes * MINUTE).toISOString();

/** A job with a pool of trainers and one evaluator, each with an image of its own, that pulls them. */
export function pullingJob(jobId: string, start: number): FixtureJob {
  const [trainer = '', evaluator = ''] = DIGESTS;
  const image = { platform: 'linux/amd64', sizeBytes: 4.21 * 2 ** 30, requested: TRAINER, digest: trainer };
  const view = viewOf(jobId, {
    ...{ state: 'PREPARING', createTime: at(start, 0), startTime: null, endTime: null },
    machines: [
      { role: 'master', count: 1, machineType: 'a2-highgpu-1g', accelerator: '1 x NVIDIA_TESLA_A100' },
      { role: 'worker', count: 3, machineType: 'a2-highgpu-1g', accelerator: '1 x NVIDIA_TESLA_A100' },
      { role: 'evaluator', count: 1, machineType: 'n1-standard-4', accelerator: null },
    ],
    images: [
      { ...image, role: 'master' },
      { ...image, role: 'worker' },
      { ...image, role: 'evaluator', requested: 'python:3.12-slim', digest: evaluator, sizeBytes: 48.1 * 2 ** 20 },
    ],
    replicas: [
      replicaOf({
        ...{ phase: 'PULLING', step: null, stepsMax: null, metrics: {} },
      }),
    ],
    timeline: [
      {
        ...{ attempt: 1, zone: 'us-central1-a', provisioningModel: 'SPOT', cause: null, message: null },
        phases: [
          { phase: 'QUEUED', startTime: at(start, 0), endTime: at(start, 0.4) },
          { phase: 'PREPARING', startTime: at(start, 0.4), endTime: null },
        ],
      },
    ],
  });
  return { view, definition: definitionOf(jobId), files: filesOf(jobId) };
}

/** A failed program whose VM is kept for another 20 minutes. */
export function keptJob(jobId: string, now: number): FixtureJob {
  const start = now - 25 * MINUTE;
  const view = viewOf(jobId, {
    ...{ state: 'FAILED', createTime: at(start, 0), startTime: at(start, 2), endTime: null },
    errorMessage: 'The program failed with exit code 1.',
    cause: causeOf({
      ...{ code: 'PROGRAM_FAILED', class: 'user', message: 'The program failed: RuntimeError: the loss exploded.' },
      ...{ remedy: 'Correct the program, and submit it again.', evidence: ['RuntimeError: the loss exploded'] },
      ...{ label: 'user_exception', rootLine: 'RuntimeError: the loss exploded', canRetryHelp: false },
    }),
    kept: {
      ...{ replica: 'master-0', vmName: `${jobId}-1-master-0-5f3a`, zone: 'us-central1-a', releaseTime: null },
      ...{ sinceTime: at(now, -10), untilTime: at(now, 20), perHourUsd: 3.67 },
    },
    timeline: [
      {
        ...{ attempt: 1, zone: 'us-central1-a', provisioningModel: 'SPOT' },
        ...{ cause: 'PROGRAM_FAILED', message: 'The program failed.' },
        phases: [
          { phase: 'QUEUED', startTime: at(start, 0), endTime: at(start, 0.4) },
          { phase: 'PREPARING', startTime: at(start, 0.4), endTime: at(start, 2) },
          { phase: 'RUNNING', startTime: at(start, 2), endTime: at(now, -10) },
          { phase: 'KEPT', startTime: at(now, -10), endTime: null },
        ],
      },
    ],
  });
  return { view, definition: definitionOf(jobId), files: filesOf(jobId) };
}

const PERIMETER_EVIDENCE = [
  "googleapi: Error 403: Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: u4HZy1hDeF8q2xNnBcW0Lk7sTgVpRjMzXa3QeYiOtKd9Uf5Jw6ClA",
];

/** Jobs that failed before their program ran, by the code of their causes. */
export function refusedJobs(start: number): ReadonlyMap<string, FixtureJob> {
  const causes = [
    {
      ...{ code: 'PERIMETER_DENIED', evidence: PERIMETER_EVIDENCE },
      message:
        'VPC Service Controls denied the request to compute.googleapis.com: a perimeter does not let vision-platform use it (unique identifier u4HZy1hDeF8q2xNnBcW0Lk7sTgVpRjMzXa3QeYiOtKd9Uf5Jw6ClA).',
      remedy:
        'Search for the unique identifier in the VPC Service Controls troubleshooter, and add an ingress or egress rule.',
    },
    {
      ...{ code: 'IMAGE_PULL_FAILED', evidence: [`manifest for ${TRAINER}@${DIGESTS[0]} not found: manifest unknown`] },
      message: `The image ${TRAINER}@${DIGESTS[0]} could not be pulled: it is no longer in its registry.`,
      remedy: 'Do what the evidence names (restore the image, grant access to it) and submit again.',
    },
    {
      ...{ code: 'CONTAINER_NOT_STARTED', evidence: [] },
      message: 'The container could not be started: exec: "trainx": executable file not found in $PATH.',
      remedy: 'Correct the command of the job or the image, and submit again.',
    },
  ];
  return new Map(
    causes.map((cause) => {
      const jobId = cause.code.toLowerCase();
      const { view, ...rest } = pullingJob(jobId, start);
      const errorMessage = cause.message;
      const ended = { state: 'FAILED', endTime: at(start, 4), replicas: [], errorMessage };
      return [jobId, { ...rest, view: { ...view, ...ended, cause: causeOf({ ...cause, class: 'configuration' }) } }];
    }),
  );
}

function filesOf(jobId: string): NonNullable<FixtureJob['files']> {
  return { jobId, jobDir: `gs://jobs/${jobId}`, prefix: '', entries: [], downloadBytesMax: 2 ** 30 };
}

function definitionOf(jobId: string): NonNullable<FixtureJob['definition']> {
  const jobFile = `name: ${jobId}\nimage: ${TRAINER}\nmachine: a2-highgpu-1g\nkeepOnFailure: 30m\n`;
  const packages = [{ uri: `gs://uploads/${jobId}.tar.gz`, sizeBytes: 48_211 }];
  const command = `npx dropforge jobs submit ${jobId}_2 --file job.yaml`;
  const submitted = { jobId: `${jobId}_2`, jobFile };
  const submission = { ...submitted, fileName: 'job.yaml', command: 'jobs submit training' as const, flags: [] };
  const repetition = { ...submitted, command, submission };
  return { jobId, jobFile, dialect: 'dropforge', isComplete: true, args: [], warnings: [], packages, repetition };
}
