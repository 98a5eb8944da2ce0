import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { readJob } from '#shared/job-file/read-job.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import { PROGRAM, startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { viewOf } from '../../support/cli/test-cloud.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const { cloud, work, submit, answer, listNames } = startCloudForEachTest();

async function readSent(jobId = 'one'): Promise<unknown> {
  const object = await cloud().store.read({ bucket: 'uploads', name: `${jobId}/job.yaml` });
  return object === undefined ? undefined : JSON.parse(await text(object));
}

/** The specification of what was sent. */
async function specOf(jobId = 'one') {
  const { draft } = readJob(readSentJob(Buffer.from(JSON.stringify(await readSent(jobId))), 'job.yaml'));
  return draft && checkJob(draft, CONTEXT).spec;
}

describe('dropforge jobs submit training', () => {
  it('packages, uploads and submits, and prints how to follow the job', async () => {
    const { code, stdout, stderr } = await submit(
      ...[
        'one',
        '--package-path',
        'trainer',
        '--packages=dep.tar.gz,gs://libs/other.tar.gz',
        '--module-name',
        'trainer.task',
      ],
      ...['--region=us-central1', '--scale-tier', 'basic-gpu', '--labels', 'team=vision,run=7', '--async'],
      ...['--', '--epochs', '3', '--job-dir', 'mine'],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('Job one ACCEPTED: QUEUED');
    expect(stdout).toContain('npx dropforge jobs stream-logs one');
    expect(stderr).toMatch(
      /^Price on Google Cloud: \$[\d.]+ per hour, at most \$[\d.]+ in its limit of 7 d \(.*\)\.\n$/,
    );
    const packages = await listNames('jobs');
    expect(packages).toEqual([
      expect.stringMatching(/^one\/packages\/[0-9a-f]{64}\/(dep\.tar\.gz|trainer-0\.0\.0\.tar\.gz)$/),
      expect.stringMatching(/^one\/packages\/[0-9a-f]{64}\/(dep\.tar\.gz|trainer-0\.0\.0\.tar\.gz)$/),
    ]);
    const uriOf = (file: string) => `gs://jobs/${packages.find((name) => name.endsWith(file))}`;
    const packageUris = [uriOf('trainer-0.0.0.tar.gz'), uriOf('dep.tar.gz'), 'gs://libs/other.tar.gz'];
    expect(await readSent()).toEqual({
      jobFile: null,
      fileName: 'job.yaml',
      command: 'jobs submit training',
      flags: [
        '--module-name=trainer.task',
        `--packages=${packageUris}`,
        '--scale-tier=basic-gpu',
        '--region=us-central1',
        '--labels=team=vision,run=7',
        ...['--', '--epochs', '3', '--job-dir', 'mine'],
      ],
      jobId: 'one',
    });
    expect(await specOf()).toMatchObject({
      jobId: 'one',
      labels: { team: 'vision', run: '7' },
      region: 'us-central1',
      program: { module: 'trainer.task', packageUris, args: ['--epochs', '3', '--job-dir', 'mine'] },
    });
  });

  it('overrides the file with flags, and keeps fields without a flag', async () => {
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
    await writeFile(join(work(), 'job.json'), JSON.stringify(file, null, 2));
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
      'dep.tar.gz',
      '--module-name',
      'trainer.task',
    );
    expect(await readSent()).toMatchObject({ jobFile: JSON.stringify(file, null, 2), fileName: 'job.json' });
    expect(await specOf()).toMatchObject({
      jobId: 'one',
      labels: { from: 'file' },
      replicaGroups: [
        { machineType: 'n1-standard-8', accelerator: { type: 'nvidia-tesla-t4', count: 2 }, bootDiskGib: 200 },
      ],
      region: 'europe-west4',
      jobDir: 'gs://jobs/here',
      limits: { maxRunningMs: 3_600_000 },
      program: {
        module: 'trainer.task',
        args: ['--old'],
        packageUris: [expect.stringMatching(/^gs:\/\/uploads\/one\/packages\/[0-9a-f]{64}\/dep\.tar\.gz$/)],
      },
    });
  });

  it('reads files without trainingInput', async () => {
    await writeFile(join(work(), 'config.yaml'), 'scale_tier: BASIC\nlabels: {a: b}\npythonModule: trainer.task\n');
    await submit('one', '--config', 'config.yaml', '--region', 'us-east1', '--packages', 'gs://libs/p.tar.gz');
    expect(await specOf()).toMatchObject({
      jobId: 'one',
      labels: { a: 'b' },
      program: { packageUris: ['gs://libs/p.tar.gz'], module: 'trainer.task' },
      region: 'us-east1',
    });
  });

  it('reads and uploads job files of every format', async () => {
    await writeFile(
      join(work(), 'vertex.yaml'),
      'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, pythonPackageSpec: ' +
        '{executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest, pythonModule: trainer.task}}]',
    );
    await writeFile(join(work(), 'own.yaml'), 'module: trainer.task\nspot: true\n');
    expect(await submit('one', '--config', 'vertex.yaml', '--packages', 'dep.tar.gz')).toMatchObject({ code: 0 });
    const program = { packageUris: [expect.stringMatching(/dep\.tar\.gz$/)] };
    expect(await specOf()).toMatchObject({ jobId: 'one', service: 'VERTEX_AI', program });
    expect(await submit('two', '--config', 'own.yaml', '--packages', 'dep.tar.gz')).toMatchObject({ code: 0 });
    expect(await specOf('two')).toMatchObject({ jobId: 'two', provisioningModel: 'SPOT', program });
  });

  it('prints why a job was rejected, and accepts a fixed one with the same id', async () => {
    answer({
      verdict: 'REFUSED',
      problems: [{ code: 'NOT_INSTALLABLE', message: 'There is no setup.py.', remedy: 'Add one.', path: 'p.tar.gz' }],
    });
    const refused = await submit('one', ...PROGRAM);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toBe(
      'one was REFUSED:\n  - NOT_INSTALLABLE (p.tar.gz): There is no setup.py.\n    → Add one.\n',
    );
    answer({ verdict: 'ACCEPTED' });
    expect((await submit('one', ...PROGRAM, '--region', 'us-east1', '--format=json')).json()).toEqual([
      expect.objectContaining({ verdict: 'ACCEPTED' }),
    ]);
  });

  it('submits a job again that waits for packages', async () => {
    const waiting = {
      source: 'gs://uploads/one/job.yaml',
      jobId: 'one',
      verdict: 'WAITING',
      problems: [],
      warnings: [],
    };
    // Intake has answered this upload with the report below, and with no other.
    cloud().onObject = () => undefined;
    await cloud().store.write({ bucket: 'uploads', name: 'one/job.yaml' }, Buffer.from('name: one\n'));
    const report = { bucket: 'uploads', name: 'one/job.yaml.report.json' };
    await cloud().store.write(report, Buffer.from(JSON.stringify({ ...waiting, job: null })));
    answer({ verdict: 'ACCEPTED' });
    expect(await submit('one', ...PROGRAM)).toMatchObject({ code: 0, stdout: expect.stringContaining('ACCEPTED') });
    expect(await readSent()).toMatchObject({ jobId: 'one' });
  });

  it('prints commands that address the same cloud', async () => {
    const { stdout } = await submit('one', ...PROGRAM, '--data-dir', cloud().dataDir);
    expect(stdout).toContain(`npx dropforge --data-dir ${cloud().dataDir} jobs stream-logs one`);
  });

  it('does not submit a second job with the same id', async () => {
    await submit('one', ...PROGRAM, '--region', 'us-east1');
    const first = await readSent();
    const { code, stderr } = await submit('one', ...PROGRAM, '--region', 'us-west1');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        'Job one already exists (gs://uploads/one/job.yaml): choose another job id, such as one_2.',
      ),
    ]);
    expect(await readSent()).toEqual(first);
  });

  it.each([
    ['SUCCEEDED', 0],
    ['FAILED', 1],
  ])('with --stream-logs prints the log and exits with the result of the job: %s', async (state, code) => {
    cloud().jobs.set('one', [viewOf('one', { state: 'RUNNING' }), viewOf('one', { state })]);
    cloud().logs.push({
      jobId: 'one',
      attempt: 1,
      replica: 'master-0',
      stream: 'stdout',
      severity: 'INFO',
      at: 0,
      text: 'hello',
    });
    const result = await submit('one', ...PROGRAM, '--stream-logs');
    expect(result).toMatchObject({
      code,
      stdout: expect.stringMatching(/master-0 {2}hello\n$/),
      stderr: expect.stringMatching(`^Price .*\nJob one ended: ${state}\\.\n$`),
    });
  });

  it('reports flags without effect and submits the job', async () => {
    const { code, stderr } = await submit('one', ...PROGRAM, '--log-http', '--quiet', '--verbosity=debug');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^FLAG_WITHOUT_EFFECT \(--log-http\): .*\n.*Remove the flag\.\nPrice .*\n$/);
  });
});
