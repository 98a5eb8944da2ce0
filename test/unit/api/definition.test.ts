import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import { formatSentJob, type SentJob } from '#shared/protocol/job-text.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { trialJobOf } from '#shared/use-cases/tuning/trial-job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { runCli } from '../../support/cli/test-cloud.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const PROGRAM = { 'trainer/__init__.py': '', 'trainer/task.py': 'print("hello")\n' };
const EXECUTOR = 'us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest';

let api: ApiUnderTest;
let work: string;
beforeEach(async () => {
  api = await openApiUnderTest();
  work = await mkdtemp(join(tmpdir(), 'dropforge-definition-'));
  for (const bucket of ['uploads', 'jobs']) {
    await api.objects.write({ bucket, name: 'run/p.tar.gz' }, await packFiles(PROGRAM));
  }
});
afterEach(async () => {
  await api.close();
  await rm(work, { recursive: true });
});

async function upload(name: string, body: string | Uint8Array): Promise<void> {
  const info = await api.objects.write({ bucket: 'uploads', name }, Buffer.from(body));
  await handleUpload(api.ports, typeof info === 'string' ? { bucket: '', name, generation: '' } : info, 1_000);
}

async function publish(job: Omit<SentJob, 'fileName'>): Promise<void> {
  const data = Buffer.from(formatSentJob({ fileName: 'mine.yaml', ...job }));
  await handleSubmitMessage(api.ports, { messageId: 'm1', data }, 1_000);
}

const TUNE = `
tune: # Searched by hand before.
  metric: accuracy
  trials: 9
  parallel: 3
  stopping: asha
  maxCost: 20
  start: [{rate: 0.1}]
  parameters: {rate: {min: 1e-3, max: 1, scale: log, default: 0.5}}
`;

const STUDY = `
studySpec:
  metrics: [{metricId: accuracy, goal: MAXIMIZE}]
  parameters: [{parameterId: lr, doubleValueSpec: {minValue: 0.1, maxValue: 1}}]
  studyStoppingConfig: {maxNumTrialsNoProgress: 4}
trialJobSpec:
  workerPoolSpecs:
    - machineSpec: {machineType: n1-standard-4}
      replicaCount: 1
      pythonPackageSpec: {packageUris: [gs://jobs/run/p.tar.gz], pythonModule: trainer.task, executorImageUri: '${EXECUTOR}'}
`;

const OWN = 'name: digits\nmodule: trainer.task\npackages: [p.tar.gz]\n';

const JOBS: readonly (readonly [string, () => Promise<void>])[] = [
  ['a tuning', () => upload('run/job.yaml', `${OWN}machine: n1-standard-4\nenv: {A: "1"}${TUNE}`)],
  [
    'a tuning of Vertex AI with flags',
    () =>
      publish({
        jobFile: STUDY,
        command: 'hp-tuning-jobs create',
        flags: ['--display-name=digits', '--max-trial-count=7', '--algorithm=random-search', '--max-cost=9'],
      }),
  ],
  [
    'a cluster with a program for each role',
    () =>
      upload(
        'run/job.yaml',
        `${OWN}gpu: 2 x T4\ndisk: {size: 200, type: pd-standard}\noutput: gs://jobs/mine/digits\nlabels: {team: vision}\n` +
          'workers: {count: 3, machine: n1-highmem-8, module: trainer.task, args: [--worker], packages: [p.tar.gz]}\n' +
          'evaluators: {count: 1, image: "ghcr.io/o/eval:1", command: [run, "a b"]}\nretries: 2\nnice: 5\n',
      ),
  ],
  [
    'a container',
    () =>
      upload(
        'job.yaml',
        'name: digits\nimage: ghcr.io/o/digits:1\nmachine: n1-standard-4\nargs: {lr: 1}\nspot: true\n',
      ),
  ],
  [
    'a Flex-start job',
    () =>
      upload(
        'run/job.json',
        JSON.stringify({
          name: 'digits',
          module: 'trainer.task',
          packages: ['./p.tar.gz'],
          gpu: 'A100',
          flexStart: true,
          maxRuntime: '2h',
          health: { nonFinite: 'rollback' },
          notify: { states: ['FAILED'] },
        }),
      ),
  ],
  [
    'a job of flags',
    () =>
      publish({
        jobFile: null,
        jobId: 'digits',
        command: 'jobs submit training',
        flags: [
          ...['--module-name=trainer.task', '--packages=gs://jobs/run/p.tar.gz', '--scale-tier=custom'],
          ...['--master-machine-type=n1-standard-8', '--master-accelerator=type=nvidia-tesla-t4,count=2'],
          ...['--worker-machine-type=n1-standard-4', '--worker-count=2', '--labels=^|^a=b|c=d'],
          ...['--job-dir=gs://jobs/out', '--', '--name', "it's $HOME", ''],
        ],
      }),
  ],
  [
    'a custom job of flags',
    () =>
      publish({
        jobFile: null,
        command: 'custom-jobs create',
        flags: [
          '--display-name=digits',
          `--worker-pool-spec=machine-type=n1-standard-8,executor-image-uri=${EXECUTOR},python-module=trainer.task,local-package-path=gs://jobs/run/p.tar.gz`,
          '--worker-pool-spec=',
          '--worker-pool-spec=machine-type=n1-standard-4,replica-count=2,container-image-uri=ghcr.io/o/ps:1',
          '--args=--epochs=3',
        ],
      }),
  ],
  [
    'a package with its job file',
    async () =>
      upload(
        'digits.tar.gz',
        await packFiles({ ...PROGRAM, 'job.yaml': OWN.replace(/packages.*/, 'machine: n1-standard-4') }),
      ),
  ],
];

async function define(jobId: string): Promise<JobDefinition> {
  const response = await api.request(`/v1/jobs/${jobId}/definition`);
  expect(response.status).toBe(200);
  return (await response.json()) as JobDefinition;
}

/** The part of a specification that does not depend on the id; images are pinned by intake alone. */
function comparable(spec: JobSpec): unknown {
  const { jobId: _id, jobDir: _dir, passesJobDir: _passes, ...others } = spec;
  return JSON.parse(JSON.stringify(others, (key, value) => (key === 'image' ? undefined : value)));
}

async function specOf(jobId: string): Promise<JobSpec> {
  const submitted = await readSubmitted(api.ports, jobId);
  if (submitted === undefined) {
    throw new Error(`${jobId} does not exist.`);
  }
  return 'study' in submitted ? { ...submitted.spec, study: submitted.study } : submitted.spec;
}

/** Runs a command in a shell, in which `dropforge` prints its arguments, and then with these arguments. */
async function runCommand(command: string): Promise<JobSpec> {
  const script = `dropforge() { printf '%s\\0' "$@"; }\n${command}`;
  const argv = execFileSync('bash', ['-c', script], { cwd: work, encoding: 'utf8' }).split('\0').slice(0, -1);
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const result = await runCli([...argv.slice(0, end), '--dry-run', '--format=json', ...argv.slice(end)], { cwd: work });
  const [{ spec, problems }] = result.json() as [{ spec: JobSpec; problems: object[] }];
  expect(problems).toEqual([]);
  return spec;
}

describe('the clone of', () => {
  it.each(JOBS)('%s loses nothing, and neither does the command that submits it again', async (_, submit) => {
    await submit();
    const original = await specOf('digits');
    const { isComplete, repetition } = await define('digits');

    const { status, body } = await api.post('/v1/jobs', repetition.submission);

    expect([status, body.jobId, isComplete]).toEqual([200, 'digits_2', true]);
    const clone = await specOf('digits_2');
    expect(comparable(clone)).toEqual(comparable(original));
    expect(clone.jobDir).not.toBe(original.jobDir);
    const repeated = await runCommand(repetition.command);
    expect(comparable(repeated)).toEqual(comparable(original));
    expect(repeated.jobId).toBe('digits_2');
  });

  it('a trial is a single training with its values', async () => {
    await upload('run/job.yaml', `${OWN}machine: n1-standard-4\nenv: {A: "1"}\nargs: [--epochs=3]${TUNE}`);
    const tuning = (await api.ports.tunings.read('digits'))?.record;
    const trial = { jobId: 'digits_trial_4', ordinal: 4, values: { rate: 0.25 } } as unknown as Trial;
    await api.ports.jobs.create(trialJobOf(tuning as never, trial, { now: 1, timeouts: TIMEOUTS }), []);
    const original = await specOf('digits_trial_4');
    const { isComplete, jobFile, repetition } = await define('digits_trial_4');

    const { body } = await api.post('/v1/jobs', repetition.submission);

    expect([body.jobId, isComplete]).toEqual(['digits_from_trial4_2', true]);
    expect(jobFile).not.toContain('tune');
    expect(comparable(await specOf('digits_from_trial4_2'))).toEqual(comparable(original));
    expect(original).toMatchObject({ program: { args: ['--epochs=3', '--rate=0.25'], environment: { A: '1' } } });
  });
});

describe('the definition of a job', () => {
  it('is the text of its job file, with what intake found', async () => {
    const text = `# Mine.\n${OWN}gpu: T4 # the cheapest\noutput: gs://jobs/my/run\n`;
    await upload('run/job.yaml', text);
    const { jobFile, dialect, packages, repetition } = await define('digits');
    expect([jobFile, dialect]).toEqual([text, 'dropforge']);
    expect(packages).toMatchObject([{ uri: 'gs://uploads/run/p.tar.gz' }]);
    // The packages of the clone are those of the job, wherever its own text is.
    expect(repetition.jobFile).toBe(text.replace('[p.tar.gz]', '["gs://uploads/run/p.tar.gz"]'));
    expect(repetition.submission.flags).toEqual(['--job-dir=gs://jobs/my/run/digits_2']);
  });

  it('is not the text of a job file that does not fit into the record, whose job runs all the same', async () => {
    await upload('run/job.yaml', `${OWN}machine: n1-standard-4\n# ${'x'.repeat(500_000)}\n`);
    expect(await define('digits')).toMatchObject({ isComplete: false, jobFile: expect.stringContaining('CUSTOM') });
  });

  it('is the command of a job that flags alone describe', async () => {
    const flags = ['--module-name=trainer.task', '--packages=gs://jobs/run/p.tar.gz', '--region=us-central1'];
    await publish({ jobFile: null, jobId: 'digits', command: 'jobs submit training', flags });
    expect((await define('digits')).jobFile).toBe(`dropforge jobs submit training digits ${flags.join(' ')}`);
  });

  it.each([
    ['digits_9', 'digits_10'],
    ['digits_trial_4', 'digits_from_trial4_2'],
    ['a'.repeat(128), `${'a'.repeat(113)}_2`],
  ])('of a record without a text says what it runs, and %s is repeated as %s', async (jobId, next) => {
    const { spec, ...job } = queuedJob();
    await api.ports.jobs.create({ ...job, jobId, spec: { ...spec, jobId } }, []);
    const { isComplete, jobFile, repetition } = await define(jobId);
    expect([isComplete, repetition.jobId]).toEqual([false, next]);
    expect(jobFile).toContain('scaleTier: CUSTOM');
  });

  it('is submitted by a command that a shell leaves as it is', async () => {
    const args = ['$HOME', '`id`', 'JOB_FILE', "it's"];
    const flow = `{name: digits, image: "ghcr.io/o/digits:1", machine: n1-standard-4, args: [$HOME, '\`id\`',\n`;
    await upload('job.yaml', `${flow}JOB_FILE\n, "it's"]}`);
    expect(await runCommand((await define('digits')).repetition.command)).toMatchObject({ program: { args } });
  });
});

describe('a job that is sent with flags', () => {
  it('is refused with the flag that is invalid', async () => {
    const jobFile = OWN.replace('p.tar.gz', 'gs://jobs/run/p.tar.gz');
    const wrong = async (...flags: string[]) => (await api.post('/v1/jobs', { jobFile, jobId: 'one', flags })).body;
    expect(await wrong('--module=x')).toMatchObject({ problems: [{ code: 'INVALID_FLAG' }] });
    expect(await wrong('--worker-count=two')).toMatchObject({ problems: [{ code: 'INVALID_FLAG' }] });
    expect(await wrong('--scale-tier=basic')).toMatchObject({ problems: [{ code: 'FLAG_NOT_IN_FORM' }] });
  });

  it('has the same problems at the same lines however it is submitted', async () => {
    const jobFile = `# A comment.\n\n${OWN.replace('p.tar.gz', 'gs://jobs/run/p.tar.gz')}\nregion: mars\n`;
    await upload('job.yaml', jobFile);
    await publish({ jobFile, jobId: 'digits', command: 'jobs submit training', flags: [] });
    const found = [];
    for (const name of ['job.yaml.report.json', 'submitted/m1.report.json']) {
      const stream = await api.objects.read({ bucket: 'uploads', name });
      found.push(JSON.parse(Buffer.concat((await stream?.toArray()) ?? []).toString()).problems);
    }
    expect(found[0]).toMatchObject([{ code: 'UNKNOWN_REGION', line: 7 }]);
    expect(found[1]).toEqual(found[0]);
  });
});
