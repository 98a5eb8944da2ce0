import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../shared/protocol/report.ts';
import { runCli, startTestCloud, type TestCloud, viewOf } from './test-cloud.ts';

let cloud: TestCloud;
let work: string;
beforeEach(async () => {
  cloud = await startTestCloud();
  work = join(cloud.dataDir, 'work');
  await mkdir(join(work, 'trainer'), { recursive: true });
  await writeFile(join(work, 'trainer', '__init__.py'), '');
  await writeFile(join(work, 'dep.whl'), 'wheel');
  answer({ verdict: 'ACCEPTED', job: viewOf('one', { state: 'QUEUED' }) });
});
afterEach(() => cloud.close());

const submit = (...argv: string[]) =>
  runCli(['jobs', 'submit', 'training', ...argv], { dataDir: cloud.dataDir, cwd: work });

/** Gives every job file this verdict, as intake would. */
function answer(report: Partial<Report>): void {
  cloud.onObject = ({ bucket, name }) => {
    if (name.endsWith('/job.json')) {
      const source = `gs://${bucket}/${name}`;
      const whole = { source, jobId: 'one', problems: [], warnings: [], job: null, ...report };
      void cloud.store.write({ bucket, name: `${name}.report.json` }, Buffer.from(JSON.stringify(whole)));
    }
  };
}

async function readJob(jobId = 'one'): Promise<unknown> {
  const object = await cloud.store.read({ bucket: 'uploads', name: `${jobId}/job.json` });
  return object === undefined ? undefined : json(object);
}

const listNames = async (bucket: string) =>
  (await cloud.store.list({ bucket, prefix: '', countMax: 100 })).map(({ name }) => name);

describe('dropforge jobs submit training', () => {
  it('packages, uploads and submits, and tells how to follow the job', async () => {
    const { code, stdout, stderr } = await submit(
      ...[
        'one',
        '--package-path',
        'trainer',
        '--packages=dep.whl,gs://libs/other.tar.gz',
        '--module-name',
        'trainer.task',
      ],
      ...['--region=us-central1', '--scale-tier', 'basic-gpu', '--labels', 'team=vision,run=7', '--async'],
      ...['--', '--epochs', '3', '--job-dir', 'mine'],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('Job one ACCEPTED: QUEUED');
    expect(stdout).toContain('npx dropforge jobs stream-logs one');
    expect(stderr).toContain('There is no setup.py beside trainer');
    const packages = await listNames('jobs');
    expect(packages).toEqual([
      expect.stringMatching(/^one\/packages\/[0-9a-f]{64}\/(dep\.whl|trainer-0\.0\.0\.tar\.gz)$/),
      expect.stringMatching(/^one\/packages\/[0-9a-f]{64}\/(dep\.whl|trainer-0\.0\.0\.tar\.gz)$/),
    ]);
    const uriOf = (file: string) => `gs://jobs/${packages.find((name) => name.endsWith(file))}`;
    expect(await readJob()).toEqual({
      jobId: 'one',
      labels: { team: 'vision', run: '7' },
      trainingInput: {
        scaleTier: 'BASIC_GPU',
        pythonModule: 'trainer.task',
        region: 'us-central1',
        packageUris: [uriOf('trainer-0.0.0.tar.gz'), uriOf('dep.whl'), 'gs://libs/other.tar.gz'],
        args: ['--epochs', '3', '--job-dir', 'mine'],
      },
    });
  });

  it('lets flags beat the file, and keeps what no flag can say', async () => {
    const file = {
      jobId: 'other',
      labels: { from: 'file' },
      trainingInput: {
        scale_tier: 'BASIC',
        region: 'europe-west4',
        args: ['--old'],
        masterConfig: { diskConfig: { bootDiskSizeGb: 200 } },
        scheduling: { maxRunningTime: '3600s' },
        packageUris: ['gs://old/package.tar.gz'],
      },
    };
    await writeFile(join(work, 'job.json'), JSON.stringify(file));
    const flags = [
      '--scale-tier',
      'custom',
      '--master-machine-type=n1-standard-8',
      '--master-accelerator',
      'type=nvidia-tesla-t4,count=2',
    ];
    await submit(
      'one',
      '--config',
      'job.json',
      ...flags,
      '--job-dir=gs://jobs/here',
      '--staging-bucket=gs://uploads/',
      '--packages',
      'dep.whl',
    );
    expect(await readJob()).toEqual({
      jobId: 'one',
      labels: { from: 'file' },
      trainingInput: {
        scaleTier: 'CUSTOM',
        masterType: 'n1-standard-8',
        region: 'europe-west4',
        jobDir: 'gs://jobs/here',
        args: ['--old'],
        masterConfig: {
          diskConfig: { bootDiskSizeGb: 200 },
          acceleratorConfig: { type: 'NVIDIA_TESLA_T4', count: '2' },
        },
        scheduling: { maxRunningTime: '3600s' },
        packageUris: [expect.stringMatching(/^gs:\/\/uploads\/one\/packages\/[0-9a-f]{64}\/dep\.whl$/)],
      },
    });
  });

  it('reads files that leave trainingInput out', async () => {
    await writeFile(join(work, 'config.yaml'), 'scale_tier: BASIC\nlabels: {a: b}\npythonModule: trainer.task\n');
    await submit('one', '--config', 'config.yaml', '--region', 'us-east1');
    expect(await readJob()).toEqual({
      jobId: 'one',
      labels: { a: 'b' },
      trainingInput: { scaleTier: 'BASIC', pythonModule: 'trainer.task', region: 'us-east1' },
    });
  });

  it('shows why a job was refused, and takes it mended under its name', async () => {
    answer({
      verdict: 'REFUSED',
      problems: [
        {
          code: 'UNKNOWN_REGION',
          message: 'There is no region "mars".',
          remedy: 'Choose another.',
          path: 'trainingInput.region',
          line: 5,
        },
      ],
    });
    const refused = await submit('one', '--region', 'mars');
    expect(refused.code).toBe(1);
    expect(refused.stdout).toBe(
      'one was REFUSED:\n  - UNKNOWN_REGION (trainingInput.region, line 5): There is no region "mars".\n    → Choose another.\n',
    );
    answer({ verdict: 'ACCEPTED' });
    expect((await submit('one', '--region', 'us-east1', '--format=json')).json()).toEqual([
      expect.objectContaining({ verdict: 'ACCEPTED' }),
    ]);
  });

  it('never submits a second job under a name', async () => {
    await submit('one', '--region', 'us-east1');
    const first = await readJob();
    const { code, stderr } = await submit('one', '--region', 'us-west1');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Job one was submitted before (gs://uploads/one/job.json): choose another job id.'),
    ]);
    expect(await readJob()).toEqual(first);
  });

  it.each([
    ['SUCCEEDED', 0],
    ['FAILED', 1],
  ])('with --stream-logs prints the log and ends as the job: %s', async (state, code) => {
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one', { state })]);
    cloud.logs.push({
      jobId: 'one',
      attempt: 1,
      replica: 'master-0',
      stream: 'stdout',
      severity: 'INFO',
      at: 0,
      text: 'hello',
    });
    const result = await submit('one', '--stream-logs');
    expect(result).toMatchObject({
      code,
      stdout: expect.stringMatching(/master-0 {2}hello\n$/),
      stderr: `Job one ended: ${state}.\n`,
    });
  });

  it.each([
    [['--worker-count', '2'], 2, /--worker-count cannot be honoured: jobs of more than one replica/],
    [['--master-image-uri=gcr.io/a/b'], 2, /--master-image-uri cannot be honoured: custom containers/],
    [['--enable-web-access'], 2, /--enable-web-access cannot be honoured/],
    [['--service-account', 'me@here'], 2, /--service-account cannot be honoured/],
    [['--project', 'elsewhere'], 2, /is not this cloud's project test-project/],
    [['--async', '--stream-logs'], 2, /exclude each other/],
    [['--scale-tier', 'huge'], 2, /choices are basic, standard-1/i],
    [['--labels', 'a'], 2, /'a' is not KEY=VALUE/],
    [['--master-accelerator', 'type=t4,count=0'], 2, /write type=TYPE,count=N/],
    [['--staging-bucket', 'gs://'], 2, /is no Cloud Storage address/],
    [['--packages', 'dep.whl,./dep.whl'], 2, /Two packages are named dep\.whl/],
    [['--packages', 'none.whl'], 1, /none\.whl cannot be read/],
    [['--package-path', 'nowhere'], 1, /cannot be read as a folder/],
    [['--config', 'none.yaml'], 1, /cannot be read .*check --config/],
    [['--config', 'list.yaml'], 1, /is not a mapping of fields/],
    [['--config', 'broken.yaml'], 1, /is no YAML/],
  ])('refuses %j before anything is submitted', async (flags, code, message) => {
    await writeFile(join(work, 'list.yaml'), '- a\n');
    await writeFile(join(work, 'broken.yaml'), 'a: [1\n');
    expect(await submit('one', ...flags)).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
    expect(await listNames('uploads')).toEqual([]);
  });
});
