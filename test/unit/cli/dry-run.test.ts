import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../support/cli/test-cloud.ts';
import { TRAINER, tarGzOf } from '../../support/package/build-archives.ts';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'dropforge-dry-'));
  await mkdir(join(work, 'trainer'));
  await writeFile(join(work, 'trainer', '__init__.py'), '');
  await writeFile(join(work, 'trainer', 'task.py'), 'print(1)\n');
  await writeFile(join(work, 'dep.tar.gz'), tarGzOf(TRAINER));
});
afterEach(() => rm(work, { recursive: true }));

const dryRun = (...argv: string[]) =>
  runCli(['jobs', 'submit', 'training', 'one', '--dry-run', ...argv], { cwd: work });

const FLAGS = ['--module-name', 'trainer.task', '--region', 'us-central1', '--scale-tier', 'basic'];

/** Not a key, but formatted like one. */
const KEY = `KEY = '''${['-----BEGIN', 'PRIVATE KEY-----'].join(' ')}\n${'MIIEvQIBADANBgkqhkiG9w0B'.repeat(8)}\n'''\n`;

type DryRun = {
  spec: object | null;
  jobFile: string | null;
  flags: string[];
  plan: object | null;
  problems: { code: string }[];
};

async function dryRunJson(...argv: string[]): Promise<DryRun> {
  const [first] = (await dryRun('--format=json', ...argv)).json() as [DryRun];
  return first;
}

describe('dropforge jobs submit training --dry-run', () => {
  it('prints the completed job and its machines without a cloud', async () => {
    const result = await dryRun(...FLAGS, '--package-path', 'trainer', '--labels', 'a=b', '--', '--epochs', '3');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(
      /^dropforge jobs submit training one --module-name=trainer\.task --packages=trainer\.tar\.gz .*-- --epochs 3$/m,
    );
    expect(result.stdout).toMatch(
      /^ {2}ROLE +COUNT +MACHINE +GPUS PER VM +PROVISIONING\n {2}master +1 +n1-standard-4 +- +on demand$/m,
    );
    expect(result.stdout).toMatch(/^ {2}price +on demand \$0\.\d\d per hour, Spot \$0\.\d\d \(list prices in /m);
  });

  it('prints the same as JSON', async () => {
    const flags = [...FLAGS, '--package-path', 'trainer', '--packages', './dep.tar.gz,gs://libs/x.whl', '--labels=a=b'];
    const { spec, plan, problems } = await dryRunJson(...flags, '--', '--epochs', '3');
    expect(problems).toEqual([]);
    expect(spec).toMatchObject({
      jobId: 'one',
      labels: { a: 'b' },
      region: 'us-central1',
      program: {
        packageUris: ['gs://uploads/trainer.tar.gz', 'gs://uploads/dep.tar.gz', 'gs://libs/x.whl'],
        module: 'trainer.task',
        args: ['--epochs', '3'],
      },
    });
    expect(plan).toMatchObject({ groups: [{ role: 'master', count: 1 }], provisioningModel: 'STANDARD' });
  });

  it('adds secrets to a job in any format', async () => {
    const { spec } = await dryRunJson(
      ...FLAGS,
      '--packages=gs://libs/x.whl',
      '--set-secrets=HF_TOKEN=hf-token:3,WANDB_API_KEY=wandb-key',
      '--set-secrets=INDEX=projects/acme/secrets/index/versions/latest',
    );
    expect(spec).toMatchObject({
      secrets: {
        HF_TOKEN: { project: null, secret: 'hf-token', version: '3' },
        WANDB_API_KEY: { project: null, secret: 'wandb-key', version: 'latest' },
        INDEX: { project: 'acme', secret: 'index', version: 'latest' },
      },
    });
    await writeFile(join(work, 'own.yaml'), 'module: a.b\npackages: ["gs://libs/p.tar.gz"]\nsecrets: {A: a}\n');
    const own = await dryRunJson('--config=own.yaml', '--set-secrets=B=b');
    expect(own.spec).toMatchObject({ secrets: { B: { secret: 'b' } } });
  });

  it.each([
    ['--set-secrets=HF_TOKEN', 2, "--set-secrets HF_TOKEN: 'HF_TOKEN' is not KEY=VALUE (--help shows the form)."],
    ['--set-secrets=RANK=hf-token', 1, 'RESERVED_VARIABLE'],
    ['--set-secrets=/run/key=hf-token', 1, 'INVALID_ENVIRONMENT'],
  ])('rejects %s with the reason', async (flag, code, reason) => {
    const result = await dryRun(...FLAGS, '--packages=gs://libs/x.whl', flag);
    expect(result.code).toBe(code);
    expect(`${result.stdout}${result.stderr}`).toContain(reason);
  });

  it('reads the job id from the file if none is passed, and fails if there is none', async () => {
    await writeFile(join(work, 'own.yaml'), 'name: mine\nmodule: a.b\npackages: ["gs://libs/p.tar.gz"]\n');
    const submit = ['jobs', 'submit', 'training', '--dry-run'];
    expect((await runCli([...submit, '--config=own.yaml'], { cwd: work })).stdout).toMatch(/^name: mine$/m);
    expect(await runCli([...submit, ...FLAGS], { cwd: work })).toMatchObject({
      code: 2,
      stderr: 'error: The job id is missing: pass it before the flags, or set it in the --config file.\n',
    });
  });

  it('overrides the file with flags', async () => {
    await writeFile(
      join(work, 'job.yaml'),
      'trainingInput: {region: europe-west4, pythonModule: a.b, packageUris: ["gs://packages/p.tar.gz"], scaleTier: BASIC}\n',
    );
    const { spec, jobFile, flags } = await dryRunJson('--config', 'job.yaml', '--region', 'us-east1');
    expect(spec).toMatchObject({ region: 'us-east1', program: { module: 'a.b' } });
    // The submission is the file as it is written, and beside it the flags.
    expect([jobFile, flags]).toEqual([await readFile(join(work, 'job.yaml'), 'utf8'), ['--region=us-east1']]);
  });

  it('prints the machines even if the job is rejected', async () => {
    const workers = ['--worker-machine-type=n1-standard-8', '--worker-count=3', '--master-machine-type=n1-standard-4'];
    const custom = [...FLAGS.slice(0, 4), '--scale-tier=CUSTOM', ...workers, '--packages=gs://packages/p.tar.gz'];
    const { code, stdout } = await dryRun(...custom, '--service-account=me@here');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}worker +3 +n1-standard-8 /m);
    expect(stdout).toMatch(/^error: INVALID_SERVICE_ACCOUNT/m);
  });

  it.each([
    ['trainer.tsk', 'print(1)', 'MODULE_NOT_FOUND'],
    ['trainer.task', KEY, 'CREDENTIALS_IN_PACKAGE'],
  ])('reports problems in the package that would reject the submission of %s', async (module, text, code) => {
    await writeFile(join(work, 'trainer', 'task.py'), text);
    const flags = [...FLAGS.slice(2), '--package-path=trainer', '--module-name', module];
    expect((await dryRunJson(...flags)).problems).toMatchObject([{ code }]);
    expect((await dryRun(...flags)).code).toBe(1);
  });

  it('reports problems in the packages of other pools, which have modules of their own', async () => {
    const job = 'name: one\nmachine: n1-standard-4\nimage: ghcr.io/o/a:1\n';
    const pool = (module: string) => `workers: {count: 1, module: ${module}, packages: [dep.tar.gz]}\n`;
    await writeFile(join(work, 'good.yaml'), job + pool('trainer.task'));
    await writeFile(join(work, 'bad.yaml'), job + pool('trainer.tsk'));
    expect((await dryRunJson('--config=good.yaml')).problems).toEqual([]);
    expect((await dryRunJson('--config=bad.yaml')).problems).toMatchObject([{ code: 'MODULE_NOT_FOUND' }]);
    const both = 'name: one\nmachine: n1-standard-4\nmodule: own\npackages: [own.py]\n';
    await writeFile(join(work, 'own.py'), 'print(1)\n');
    await writeFile(join(work, 'both.yaml'), both + pool('trainer.task'));
    expect((await dryRunJson('--config=both.yaml')).problems).toEqual([]);
    await writeFile(join(work, 'swapped.yaml'), both + pool('own'));
    expect((await dryRunJson('--config=swapped.yaml')).problems).toMatchObject([{ code: 'MODULE_NOT_FOUND' }]);
  });

  it('does not report a module as missing that can be in a package in a bucket', async () => {
    const flags = [...FLAGS.slice(2), '--packages=dep.tar.gz,gs://libs/x.whl', '--module-name=other.main'];
    expect(await dryRun(...flags)).toMatchObject({ code: 0 });
  });

  it.each([
    [['--region', 'mars'], /UNKNOWN_REGION|mars/, ''],
    [['--config', 'none.yaml'], /^$/, /none\.yaml cannot be read .*check --config/],
    [['--config', 'broken.yaml'], /YAML/, ''],
  ])('rejects %j with a remedy', async (argv, stdout, stderr) => {
    await writeFile(join(work, 'broken.yaml'), 'a: [1\n');
    const flags = ['--module-name', 'a.b', '--packages', 'gs://packages/p.tar.gz', ...argv];
    expect(await dryRun(...flags)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    });
  });
});

/** Arguments after `gcloud ai-platform jobs submit training`, as found in scripts, and the expected job. */
describe('a command line of gcloud ai-platform', () => {
  const program = '--package-path=./trainer --module-name=trainer.task';
  it.each<[string, object]>([
    [
      `digits_1 ${program} --job-dir gs://models/digits_1 --region europe-west1 --runtime-version 2.11 --python-version 3.7`,
      { jobId: 'digits_1', jobDir: 'gs://models/digits_1', region: 'europe-west1', pythonVersion: '3.7' },
    ],
    [
      `${program} --scale-tier=BASIC_GPU --stream-logs digits_2`,
      { jobId: 'digits_2', replicaGroups: [{ machineType: 'n1-standard-8', accelerator: { count: 1 } }] },
    ],
    [
      `digits_3 ${program} --scale-tier custom --master-machine-type n1-highmem-8 --master-accelerator count=2,type=nvidia-tesla-t4`,
      { replicaGroups: [{ machineType: 'n1-highmem-8', accelerator: { type: 'nvidia-tesla-t4', count: 2 } }] },
    ],
    [
      `digits_4 ${program} --labels team=vision,stage=dev --labels run=7 --quiet --verbosity=info -- --epochs=3 --lr 0.1 --`,
      {
        labels: { team: 'vision', stage: 'dev', run: '7' },
        program: { module: 'trainer.task', args: ['--epochs=3', '--lr', '0.1', '--'] },
      },
    ],
    [
      `digits_5 ${program} --async --staging-bucket=gs://stage --account=me@example.com --project=other --use-chief-in-tf-config=true`,
      { jobId: 'digits_5' },
    ],
    [`digits_7 ${program} --labels=^:^a=1:b=2`, { labels: { a: '1', b: '2' } }],
  ])('%s', async (line, expected) => {
    const { stdout, stderr } = await runCli(
      ['jobs', 'submit', 'training', '--dry-run', '--format=json', ...line.split(' ')],
      { cwd: work },
    );
    expect(stderr).toBe('');
    expect((JSON.parse(stdout) as DryRun).problems).toEqual([]);
    expect((JSON.parse(stdout) as DryRun).spec).toMatchObject(expected);
  });

  it('sets network, service account and key with their full resource names', async () => {
    const keyring = ['--kms-keyring=r', '--kms-location=us-central1', '--kms-project=lab'];
    const { spec } = await dryRunJson(
      ...[...FLAGS, '--packages=gs://packages/p.whl', '--kms-key=k', ...keyring],
      ...['--network=projects/12/global/networks/lab', '--service-account=trainer@lab.iam.gserviceaccount.com'],
    );
    expect(spec).toMatchObject({
      network: 'projects/12/global/networks/lab',
      serviceAccount: 'trainer@lab.iam.gserviceaccount.com',
      kmsKeyName: 'projects/lab/locations/us-central1/keyRings/r/cryptoKeys/k',
    });
  });

  it('reads containers and several machines', async () => {
    const image = ['--master-image-uri=gcr.io/lab/a', '--worker-image-uri=gcr.io/lab/w'];
    const workers = [
      '--worker-machine-type=n1-standard-8',
      '--worker-count=2',
      '--worker-accelerator=type=nvidia-tesla-t4',
    ];
    const servers = ['--parameter-server-machine-type=n1-standard-4', '--parameter-server-count=1'];
    const master = ['--scale-tier=custom', '--master-machine-type=n1-standard-8'];
    const { spec, problems } = await dryRunJson(...master, ...image, ...workers, ...servers, '--', '-x');
    expect(spec).toMatchObject({
      program: { kind: 'CONTAINER', imageUri: 'gcr.io/lab/a', args: ['-x'] },
      replicaGroups: [
        { role: 'master', count: 1 },
        { role: 'worker', count: 2, accelerator: { count: 1 }, program: { imageUri: 'gcr.io/lab/w' } },
        { role: 'ps', count: 1, machineType: 'n1-standard-4' },
      ],
    });
    expect(problems).toEqual([]);
  });
});
