import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { readJob } from '#shared/job-file/read-job.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import { runCli, startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';
import { TRAINER, tarGzOf } from '../../support/package/build-archives.ts';

let cloud: TestCloud;
let work: string;
beforeEach(async () => {
  cloud = await startTestCloud();
  work = join(cloud.dataDir, 'work');
  await mkdir(join(work, 'app', 'trainer'), { recursive: true });
  await writeFile(join(work, 'app', 'trainer', '__init__.py'), '');
  await writeFile(join(work, 'app', 'trainer', 'task.py'), 'print(1)\n');
  await writeFile(join(work, 'dep.tar.gz'), tarGzOf(TRAINER));
  cloud.onObject = ({ bucket, name }) => {
    if (name.endsWith('/job.yaml')) {
      const report = { jobId: 'Run_1', verdict: 'ACCEPTED', problems: [], warnings: [], job: viewOf('Run_1') };
      const whole = { source: `gs://${bucket}/${name}`, ...report };
      void cloud.store.write({ bucket, name: `${name}.report.json` }, Buffer.from(JSON.stringify(whole)));
    }
  };
});
afterEach(() => cloud.close());

const create = (...argv: string[]) =>
  runCli(['custom-jobs', 'create', '--display-name=Run 1', ...argv], { dataDir: cloud.dataDir, cwd: work });

const EXECUTOR = 'us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest';
const PYTHON = `machine-type=n1-standard-8,executor-image-uri=${EXECUTOR},python-module=trainer.task`;
const BUILT = `${PYTHON},local-package-path=app`;
const APP = 'gs://uploads/app.tar.gz';

async function dryRun(...argv: string[]) {
  const { stdout, stderr } = await create('--dry-run', '--format=json', ...argv);
  const shown = JSON.parse(stdout) as {
    spec: JobSpec | null;
    flags: string[];
    problems: object[];
    warnings: object[];
  };
  const groups = shown.spec?.replicaGroups.map((group) => ({
    ...group,
    program: group.program ?? shown.spec?.program,
  }));
  return { ...shown, stderr, groups };
}

/** The job that was submitted, with its flags applied. */
async function readSent(jobId: string) {
  const { draft } = readJob(readSentJob(Buffer.from(await readUploaded(`${jobId}/job.yaml`)), 'job.yaml'));
  const pools = draft?.pools.map(({ program }) => program.packageUris?.map(({ value }) => value));
  return { displayName: draft?.displayName?.value, pools };
}

async function readUploaded(name: string): Promise<string> {
  const object = await cloud.store.read({ bucket: 'uploads', name });
  return object === undefined ? '' : text(object);
}

/** Returns the files of the uploaded package. */
async function readPackage(): Promise<Map<string, string>> {
  const [info] = (await cloud.store.list({ bucket: 'jobs', prefix: '', countMax: 10 })).filter(({ name }) =>
    name.endsWith('.tar.gz'),
  );
  const object = await cloud.store.read({ bucket: 'jobs', name: info?.name ?? '' });
  const files = new Map<string, string>();
  if (object !== undefined) {
    for await (const entry of object.pipe(createGunzip()).pipe(extract())) {
      files.set(entry.header.name, await text(entry));
    }
  }
  return files;
}

describe('dropforge custom-jobs create', () => {
  it('builds a working directory with its requirements and submits it with an id derived from its display name', async () => {
    await writeFile(join(work, 'app', 'requirements.txt'), '# what we need\nnumpy>=2,<3\npandas[aws]  # tables\n');
    const { code, stdout, stderr } = await create(
      `--worker-pool-spec=${BUILT},requirements=scipy;numpy>=2,extra-packages=dep.tar.gz;gs://libs/x.whl`.replace(
        'scipy;numpy>=2',
        'scipy;rich',
      ),
    );
    expect(stderr).toMatch(
      /^Price on Google Cloud: \$[\d.]+ per hour, at most \$[\d.]+ in its limit of 7 d \(.*\)\.\n$/,
    );
    expect(stdout).toContain('Job Run_1 ACCEPTED');
    expect(code).toBe(0);
    expect(await readSent('Run_1')).toEqual({
      displayName: 'Run 1',
      pools: [
        [
          expect.stringMatching(/^gs:\/\/jobs\/Run_1\/packages\/[0-9a-f]{64}\/app-0\.0\.0\.tar\.gz$/),
          expect.stringMatching(/\/dep\.tar\.gz$/),
          'gs://libs/x.whl',
        ],
      ],
    });
    const files = await readPackage();
    expect(files.get('app/requirements.txt')).toBe(
      '# what we need\nnumpy>=2,<3\npandas[aws]  # tables\n\nscipy\nrich\n',
    );
    expect(files.has('app/trainer/task.py')).toBe(true);
  });

  it('submits a display name a second time with the time appended to the id', async () => {
    const spec = `--worker-pool-spec=${BUILT}`;
    expect(await create(spec)).toMatchObject({ code: 0, stdout: expect.stringContaining('Job Run_1 ACCEPTED') });
    const { code, stderr } = await create(spec);
    const again = /Job Run_1 already exists: this one is submitted as (Run_1_\d{6}_\d{6})\.\n/.exec(stderr)?.[1] ?? '';
    expect([code, again]).toEqual([0, expect.stringMatching(/^Run_1_/)]);
    expect((await readSent(again)).displayName).toMatch(/^Run 1 \d{6}_\d{6}$/);
  });

  it('rejects requirements that cannot be added to the package', async () => {
    await writeFile(join(work, 'app', 'setup.py'), "from setuptools import setup\nsetup(install_requires=['numpy'])\n");
    const result = await create(`--worker-pool-spec=${BUILT},requirements=scipy`);
    const stderr = expect.stringContaining('declares its own requirements: add scipy');
    expect(result).toMatchObject({ code: 1, stdout: '', stderr });
  });

  it('submits a script with the files beside it', async () => {
    await writeFile(join(work, 'app', 'train-all.py'), 'print(1)\n');
    const script = BUILT.replace('python-module=trainer.task', 'script=train-all.py');
    const { groups, problems } = await dryRun(`--worker-pool-spec=${script}`);
    expect(problems).toEqual([]);
    expect(groups).toMatchObject([{ program: { module: 'train-all.py' } }]);
    const missing = await dryRun(`--worker-pool-spec=${script.replace('train-all', 'train')}`);
    expect(missing.problems).toMatchObject([
      { code: 'MODULE_NOT_FOUND', message: expect.stringContaining('Similar names: train-all.py') },
    ]);
  });

  it('supports every key of a pool and passes the arguments to every pool', async () => {
    const gpus = 'accelerator-type=nvidia-tesla-t4,accelerator-count=2';
    const { groups } = await dryRun(
      `--worker-pool-spec=replica-count=1,machine-type=n1-standard-8,${gpus},container-image-uri=gcr.io/a/b`,
      '--worker-pool-spec=',
      `--worker-pool-spec=replica-count=2,${PYTHON}`,
      '--python-package-uris=gs://libs/p.tar.gz,gs://libs/q.whl',
      '--args=--epochs=3,--fast',
      '--args=^;^--names=a,b',
      '--command=python,run.py',
    );
    const args = ['--epochs=3', '--fast', '--names=a,b'];
    expect(groups).toMatchObject([
      {
        role: 'master',
        count: 1,
        machineType: 'n1-standard-8',
        accelerator: { type: 'nvidia-tesla-t4', count: 2 },
        program: { imageUri: 'gcr.io/a/b', command: ['python', 'run.py'], args },
      },
      {
        role: 'ps',
        count: 2,
        machineType: 'n1-standard-8',
        program: { packageUris: ['gs://libs/p.tar.gz', 'gs://libs/q.whl'], module: 'trainer.task', args },
      },
    ]);
  });

  it('runs the first pool’s built package in pools without a program', async () => {
    const { groups } = await dryRun(
      `--worker-pool-spec=${BUILT}`,
      '--worker-pool-spec=machine-type=n1-standard-4,replica-count=3',
    );
    expect(groups).toMatchObject([
      { program: { packageUris: [APP] } },
      { count: 3, program: { packageUris: [APP], module: 'trainer.task' } },
    ]);
  });

  it('builds a package once that several pools name', async () => {
    const { groups, problems } = await dryRun(
      `--worker-pool-spec=${BUILT}`,
      `--worker-pool-spec=${BUILT},replica-count=2`,
    );
    expect(problems).toEqual([]);
    expect(groups).toMatchObject([{ program: { packageUris: [APP] } }, { count: 2, program: { packageUris: [APP] } }]);
  });

  it('overrides the file with flags and reports flags without effect', async () => {
    await writeFile(
      join(work, 'spec.yaml'),
      `workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, pythonPackageSpec: {executorImageUri: '${EXECUTOR}', packageUris: [gs://old/p.whl], pythonModule: a.b}}]\nserviceAccount: old@lab.iam.gserviceaccount.com\n`,
    );
    const { groups, spec, flags, warnings } = await dryRun(
      '--config=spec.yaml',
      '--python-package-uris=gs://new/p.whl',
      '--args=x',
      '--service-account=new@lab.iam.gserviceaccount.com',
      '--labels=team=vision',
      '--set-secrets=HF_TOKEN=hf-token:3',
      '--enable-dashboard-access',
      '--enable-web-access',
    );
    expect(groups).toMatchObject([{ program: { packageUris: ['gs://new/p.whl'], module: 'a.b', args: ['x'] } }]);
    expect(spec).toMatchObject({
      labels: { team: 'vision' },
      serviceAccount: 'new@lab.iam.gserviceaccount.com',
      secrets: { HF_TOKEN: { secret: 'hf-token', version: '3' } },
    });
    expect(flags).toContain('--enable-web-access');
    expect(warnings).toContainEqual(expect.objectContaining({ path: '--enable-dashboard-access' }));
  });

  it.each([
    [[], /The program to run is missing/],
    [['--display-name=', `--worker-pool-spec=${PYTHON}`], /--display-name is missing/],
    [['--worker-pool-spec=machine-type'], /'machine-type' is not KEY=VALUE/],
    [['--worker-pool-spec=machin-type=n1'], /Did you mean "machine-type"/],
    [[`--worker-pool-spec=${PYTHON},replica-count=some`], /replica-count=some is not a whole number/],
    [[`--worker-pool-spec=${BUILT},script=run.py`], /python-module and script are mutually exclusive/],
    [[`--worker-pool-spec=machine-type=n1-standard-4,local-package-path=app,script=run.sh`], /only Python scripts run/],
    [[`--worker-pool-spec=machine-type=n1-standard-4,script=run.py`], /script requires local-package-path/],
    [[`--worker-pool-spec=${BUILT},extra-dirs=data`], /extra-dirs is not supported/],
    [[`--worker-pool-spec=${BUILT},output-image-uri=gcr.io/a`], /output-image-uri is not supported/],
    [[`--worker-pool-spec=${PYTHON},container-image-uri=gcr.io/a`], /mutually exclusive/],
    [[`--worker-pool-spec=${PYTHON},requirements=numpy`], /requirements requires local-package-path/],
    [['--worker-pool-spec=machine-type=n1-standard-4,local-package-path=app'], /requires python-module or script/],
    [Array.from({ length: 5 }, () => `--worker-pool-spec=${PYTHON}`), /Too many --worker-pool-spec \(5\)/],
    [['--persistent-resource-id=x', `--worker-pool-spec=${PYTHON}`], /--persistent-resource-id is not supported/],
    [['--config=job.yaml'], /is not a Vertex AI CustomJobSpec\. Submit it with `dropforge jobs submit training/],
    [[`--worker-pool-spec=${PYTHON}`, '--', 'x'], /does not accept arguments after --/],
  ])('reports %j as a usage error', async (argv, message) => {
    await writeFile(join(work, 'job.yaml'), 'trainingInput: {scaleTier: BASIC}\n');
    expect(await create(...argv)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });
});
