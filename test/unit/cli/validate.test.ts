import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JOB_FILE_BYTES_MAX } from '#shared/job-file/parser/parse-source.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'dropforge-validate-'));
  await writeFile(join(work, 'good.yaml'), GOOD);
  await writeFile(join(work, 'bad.yaml'), 'trainingInput:\n  scaleTier: BASIC\n  regoin: us-central1\n');
});
afterEach(() => rm(work, { recursive: true }));

const GPUS = 'masterConfig: {acceleratorConfig: {type: NVIDIA_TESLA_T4, count: 2}}';
const GOOD = `jobId: a\ntrainingInput: {scaleTier: CUSTOM, masterType: n1-standard-8, ${GPUS}, pythonModule: trainer.task, region: us-central1, packageUris: [gs://packages/p.tar.gz]}\n`;

const validate = (...argv: string[]) => runCli(['jobs', 'validate', ...argv], { cwd: work });

async function validateJson(...argv: string[]) {
  const lines = (await validate('--format=json', ...argv)).json();
  return lines as { file: string; verdict: string; errors: { code: string }[]; warnings: { code: string }[] }[];
}

describe('dropforge jobs validate', () => {
  it('prints errors with location and remedy, and the machines with their price', async () => {
    const { code, stdout, stderr } = await validate('good.yaml', 'bad.yaml');
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^good\.yaml: valid {2}\(AI Platform\)$/m);
    expect(stdout).toMatch(/^ {2}master +1 +n1-standard-8 +2 × nvidia-tesla-t4 +on demand$/m);
    expect(stdout).toMatch(/^ {2}price +on demand \$\d+\.\d\d per hour, Spot \$\d+\.\d\d \(list prices in [\w-]+, \d/m);
    expect(stdout).toMatch(/^ +Vertex AI \$\d+\.\d\d: \d+ % cheaper on demand, \d+ % on Spot$/m);
    expect(stdout).toMatch(/^bad\.yaml: invalid/m);
    expect(stdout).toMatch(
      /^ {2}error UNKNOWN_FIELD \(line 3, trainingInput\.regoin\): .*\n {6}→ Did you mean "region"/m,
    );
  });

  it('prints which machines are Spot VMs, and what the job costs with them', async () => {
    await writeFile(join(work, 'mixed.yaml'), 'module: t.a\nmachine: n1-standard-4\nworkers: {count: 3, spot: true}\n');
    const { code, stdout } = await validate('mixed.yaml');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}master +1 +n1-standard-4 +- +on demand$/m);
    expect(stdout).toMatch(/^ {2}worker +3 +n1-standard-4 +- +Spot$/m);
    expect(stdout).toMatch(/^ {2}price +\$0\.\d+ per hour as requested, on demand \$0\.76 per hour, Spot \$0\.\d+ \(/m);
    expect(await validateJson('mixed.yaml')).toMatchObject([
      { runs: [{ provisioningModel: 'STANDARD' }, { role: 'worker', provisioningModel: 'SPOT' }] },
    ]);
  });

  it('says that images are not looked up, and warns where no container engine answers', async () => {
    await writeFile(join(work, 'image.yaml'), 'name: a\nimage: ghcr.io/o/digits:1\nmachine: n1-standard-4\n');
    const here = await validate('image.yaml');
    expect(here.stdout).toMatch(/^ {2}image +ghcr\.io\/o\/digits:1: not looked up; a submission finds it/m);
    expect(here.stdout).not.toContain('CONTAINER_ENGINE_MISSING');
    await writeFile(join(work, 'wrong.yaml'), 'name: a\nimage: ghcr.io/O/digits:1\nmachine: n1-standard-4\n');
    expect((await validate('wrong.yaml')).stdout).not.toContain('not looked up');
    const none = { cwd: work, hasContainerEngine: async () => false };
    const without = await runCli(['jobs', 'validate', 'image.yaml'], none);
    expect([here.code, without.code]).toEqual([0, 0]);
    expect(without.stdout).toMatch(/warning CONTAINER_ENGINE_MISSING: No command `docker` .*\n +→ Install/);
    expect((await runCli(['jobs', 'validate', 'good.yaml'], none)).stdout).not.toContain('ENGINE');
    const dryRun = ['jobs', 'submit', 'training', 'a', '--config=image.yaml', '--dry-run'];
    const preview = await runCli(dryRun, none);
    expect(preview.stdout).toMatch(/^ {2}image +ghcr\.io\/o\/digits:1: not looked up/m);
    expect(preview.stdout).toContain('warning: CONTAINER_ENGINE_MISSING');
  });

  it('refuses an image that VMs of the deployment cannot pull, and needs no engine on this machine then', async () => {
    await writeFile(join(work, 'image.yaml'), 'name: a\nimage: ghcr.io/o/digits:1\nmachine: n1-standard-4\n');
    const deployment = { projectId: 'p', api: 'https://a.example', uploadBucket: 'u', jobsBucket: 'j' };
    const validateIn = async (internetAccess: object | undefined, ...flags: readonly string[]) => {
      await writeFile(join(work, 'deployment.json'), JSON.stringify({ ...deployment, internetAccess }));
      const io = { cwd: work, hasContainerEngine: async () => false };
      return await runCli(
        ['jobs', 'validate', 'image.yaml', `--deployment=${join(work, 'deployment.json')}`, ...flags],
        io,
      );
    };
    const without = await validateIn({ regions: [] });
    expect(without.stderr).toBe('');
    expect(without.stdout).toMatch(
      /error IMAGE_HOST_UNREACHABLE: .* ghcr\.io.*\n +→ .*remote_repositories.*nat = true/,
    );
    expect([without.code, without.stdout.includes('ENGINE')]).toEqual([1, false]);
    // The region of the job is not known here.
    expect((await validateIn({ regions: ['us-east1'] })).stdout).toContain('warning IMAGE_HOST_NOT_CHECKED');
    expect((await validateIn(undefined)).stdout).not.toContain('IMAGE_HOST');

    await writeFile(join(work, 'image.yaml'), 'name: a\nmodule: train\nmachine: n1-standard-4\n');
    await writeFile(join(work, 'requirements.txt'), 'transformers\n');
    await writeFile(join(work, 'train.py'), 'import transformers\n');
    expect((await validateIn({ regions: [] }, '--package=.')).stdout).toContain('warning NOT_IN_IMAGE');
    expect((await validateIn(undefined, '--package=.')).stdout).not.toContain('NOT_IN_IMAGE');
  });

  it('prints the same as JSON, one object per line', async () => {
    const [good, bad] = await validateJson('good.yaml', 'bad.yaml');
    expect(good).toEqual({
      file: 'good.yaml',
      dialect: 'ai-platform',
      verdict: 'valid',
      isRunnable: true,
      parameters: [],
      errors: [],
      warnings: [],
      cluster: { master: ['n1-standard-8', { NVIDIA_TESLA_T4: 2 }] },
      runs: [
        {
          ...{ role: 'master', count: 1, machineType: 'n1-standard-8', provisioningModel: 'STANDARD' },
          gpus: { type: 'nvidia-tesla-t4', count: 2 },
        },
      ],
      images: [],
      trials: null,
      price: {
        perHour: expect.any(Number),
        onDemandPerHour: expect.any(Number),
        spotPerHour: expect.any(Number),
        asOf: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      },
    });
    expect(bad).toMatchObject({ verdict: 'invalid', errors: [{ code: 'UNKNOWN_FIELD', line: 3 }] });
  });

  it('accepts a file without fields that a submission supplies', async () => {
    await writeFile(join(work, 'open.yaml'), 'trainingInput: {scaleTier: STANDARD_1, region: us-central1}\n');
    expect(await validateJson('open.yaml')).toMatchObject([{ verdict: 'valid', isRunnable: true }]);
    expect((await validate('open.yaml')).code).toBe(0);
  });

  it('exits with 1 for a valid file that this version does not support, as a submission is rejected', async () => {
    await writeFile(join(work, 'open.yaml'), 'trainingInput: {scaleTier: BASIC_TPU, region: $REGION}\n');
    const [{ verdict, warnings } = { verdict: '', warnings: [] }] = await validateJson('open.yaml');
    expect(verdict).toBe('valid');
    expect(await validate('open.yaml')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('not supported by this version'),
    });
    const codes = new Set(warnings.map(({ code }) => code));
    expect(codes).toEqual(new Set(['PLACEHOLDER', 'UNSUPPORTED_FIELD']));
  });

  it('prints the number of trials of a study', async () => {
    const params = 'params: [{parameterName: lr, type: DOUBLE, minValue: 0.1, maxValue: 1}]';
    const study = `hyperparameters: {goal: MAXIMIZE, maxTrials: 20, maxParallelTrials: 4, ${params}}`;
    await writeFile(join(work, 'study.yaml'), `trainingInput: {scaleTier: BASIC, ${study}}\n`);
    expect((await validate('study.yaml')).stdout).toMatch(/^ {2}trials +20, 4 at a time$/m);
    expect(await validateJson('study.yaml')).toMatchObject([{ trials: { max: 20, parallel: 4 } }]);
  });

  it('continues after a file that does not exist, and exits with 1', async () => {
    const lines = await validateJson('none.yaml', '.', 'good.yaml');
    expect(lines.map(({ file, verdict, errors }) => [file, verdict, errors[0]?.code])).toEqual([
      ['none.yaml', 'invalid', 'FILE_UNREADABLE'],
      ['job.yaml', 'invalid', 'FILE_UNREADABLE'],
      ['good.yaml', 'valid', undefined],
    ]);
    expect((await validate('none.yaml', 'good.yaml')).code).toBe(1);
    expect((await validate('none.yaml')).stdout).toContain('none.yaml cannot be read (the file does not exist).');
    expect((await validate('good.yaml')).code).toBe(0);
  });

  it('reads standard input, up to the size limit of a job file', async () => {
    const pipe = (openStdin: () => AsyncIterable<Uint8Array>) =>
      runCli(['jobs', 'validate', '-'], { cwd: work, openStdin });
    expect((await pipe(() => Readable.from([Buffer.from(GOOD)]))).stdout).toMatch(/^-: valid/);
    let sentBytes = 0;
    async function* endless() {
      for (;;) {
        sentBytes += 65_536;
        yield Buffer.alloc(65_536, 'a');
      }
    }
    expect((await pipe(endless)).stdout).toMatch(/FILE_TOO_LARGE/);
    expect(sentBytes).toBeLessThanOrEqual(JOB_FILE_BYTES_MAX + 65_536);
  });
});

describe('dropforge jobs validate --package', () => {
  beforeEach(async () => {
    await mkdir(join(work, 'trainer'));
    await writeFile(join(work, 'trainer', '__init__.py'), '');
    await writeFile(join(work, 'trainer', 'task.py'), 'import tensorflow as tf\nprint(tf)\n');
    await writeFile(
      join(work, 'setup.py'),
      "from setuptools import setup\nsetup(name='t', version='1', packages=['trainer'], install_requires=['tensorflow-cpu'])\n",
    );
  });

  const codesOf = async (...argv: string[]) =>
    (await validateJson(...argv)).map(({ errors, warnings }) => [...errors, ...warnings].map(({ code }) => code));

  it('validates a folder against the machines of each file', async () => {
    await writeFile(join(work, 'plain.yaml'), GOOD.replace(`${GPUS}, `, ''));
    const [gpus, plain] = await codesOf('good.yaml', 'plain.yaml', '--package', 'trainer');
    expect(gpus).toContain('CPU_ONLY_BUILD');
    expect(plain).not.toContain('CPU_ONLY_BUILD');
    expect((await validate('good.yaml', '--package=trainer')).code).toBe(1);
  });

  it('omits what concerns an installation if the package runs in an image', async () => {
    await writeFile(join(work, 'image.yaml'), 'name: a\nimage: ghcr.io/o/digits:1\nmodule: trainer.task\ngpu: T4\n');
    expect(await codesOf('image.yaml', '--package=trainer')).toEqual([[]]);
  });

  it('omits findings given by --ignore', async () => {
    const [codes] = await codesOf('good.yaml', '--package=trainer', '--ignore=CPU_ONLY_BUILD,NO_DISTRIBUTION_STRATEGY');
    expect(codes).toEqual([]);
    expect((await validate('good.yaml', '--package=trainer', '--ignore=CPU_ONLY_BUILD')).code).toBe(0);
  });

  it('rejects unknown codes in --ignore', async () => {
    const { code, stderr } = await validate('good.yaml', '--package=trainer', '--ignore=CPU_ONLY_BUILDS');
    expect(code).toBe(2);
    expect(stderr).toContain('--ignore CPU_ONLY_BUILDS: unknown package check');
  });

  it('reports that the job file’s module is missing', async () => {
    await writeFile(join(work, 'other.yaml'), GOOD.replace('trainer.task', 'trainer.main'));
    expect(await codesOf('other.yaml', '--package=trainer')).toEqual([expect.arrayContaining(['MODULE_NOT_FOUND'])]);
  });

  it('reports packages that do not exist or are not archives', async () => {
    await writeFile(join(work, 'p.tar.gz'), 'no archive');
    expect(await codesOf('good.yaml', '--package=p.tar.gz')).toEqual([expect.arrayContaining(['NOT_AN_ARCHIVE'])]);
    expect(await validate('good.yaml', '--package=none.whl')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/none\.whl cannot be read .*check --package/),
    });
  });
});
