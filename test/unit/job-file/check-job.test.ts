import { describe, expect, it } from 'vitest';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { parseDurationMs, printDuration, suggestDuration } from '#shared/job-file/draft/duration.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { applyFlags } from '#shared/job-file/flags/apply-flags.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { suggestJobId } from '#shared/job-file/validation/check-names.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { nearestName } from '#shared/text/nearest-name.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const NAMED = { ...EMPTY_DRAFT, jobId: { value: 'census', path: 'jobId' } };

const PROGRAM = ['--packages=gs://bkt/t.tar.gz', '--module-name=trainer.task'];
const MACHINE = ['--scale-tier=basic', '--region=us-central1'];

function withFlags(draft: JobDraft, flags: readonly string[]): JobDraft {
  return applyFlags(draft, { command: 'jobs submit training', flags });
}

/** If a flag is given several times, the last one counts. */
function check(flags: readonly string[], context: JobContext = CONTEXT) {
  return checkJob(withFlags(NAMED, [...PROGRAM, ...MACHINE, ...flags]), context);
}

function firstProblem(flags: readonly string[], context: JobContext = CONTEXT) {
  const [problem] = check(flags, context).problems;
  return problem && `${problem.code} ${problem.path}`;
}

const custom = (machineType: string, type: string, count: number) => [
  ...['--scale-tier=custom', `--master-machine-type=${machineType}`],
  `--master-accelerator=type=${type},count=${count}`,
];

describe('flags', () => {
  it('can specify a job without a file', () => {
    expect(check([]).problems).toEqual([]);
    expect(check(custom('n1-standard-8', 'nvidia-tesla-t4', 2)).spec?.replicaGroups[0]).toMatchObject({
      machineType: 'n1-standard-8',
      accelerator: { type: 'nvidia-tesla-t4', count: 2 },
    });
  });

  it('override the file’s fields and keep the others', () => {
    const file =
      'jobId: a\nlabels: {x: y}\ntrainingInput: {scaleTier: BASIC, region: nowhere, args: [--old], pythonModule: t.a, packageUris: [p.whl]}';
    const { draft } = readJobFile(file, { fileName: 'config.yaml' });
    const { spec } = checkJob(withFlags(draft ?? EMPTY_DRAFT, ['--region=us-east1', '--', '--new']), CONTEXT);
    expect(spec).toMatchObject({
      jobId: 'a',
      labels: { x: 'y' },
      region: 'us-east1',
      program: { module: 't.a', args: ['--new'] },
    });
  });

  it('are the path of problems with their values', () => {
    expect(firstProblem(['--region=mars'])).toBe('UNKNOWN_REGION --region');
  });
});

describe('checkJob', () => {
  it.each([
    [
      'an accelerator on a legacy type',
      custom('standard_gpu', 'NVIDIA_TESLA_T4', 1),
      'ACCELERATOR_ON_LEGACY_TYPE --master-accelerator',
    ],
    ['an unknown GPU', custom('n1-standard-8', 'NVIDIA_TESLA_T5', 1), 'UNKNOWN_ACCELERATOR --master-accelerator'],
    ['three T4', custom('n1-standard-8', 'NVIDIA_TESLA_T4', 3), 'WRONG_ACCELERATOR_COUNT --master-accelerator'],
    [
      'one V100 on sixteen vCPUs',
      custom('n1-standard-16', 'NVIDIA_TESLA_V100', 1),
      'MACHINE_TYPE_TOO_LARGE --master-machine-type',
    ],
    [
      'an A100 on N1',
      custom('n1-standard-8', 'NVIDIA_TESLA_A100', 1),
      'ACCELERATOR_NOT_ATTACHABLE --master-accelerator',
    ],
    [
      'a T4 on E2',
      custom('e2-standard-4', 'NVIDIA_TESLA_T4', 1),
      'MACHINE_TYPE_TAKES_NO_ACCELERATOR --master-accelerator',
    ],
    ['another GPU on A2', custom('a2-highgpu-1g', 'NVIDIA_TESLA_T4', 1), 'ACCELERATOR_BUILT_IN --master-accelerator'],
    ['a TPU', custom('n1-standard-8', 'TPU_V2', 8), 'ACCELERATOR_NOT_ATTACHABLE --master-accelerator'],
    ['an argument with a NUL', ['--', 'a\0'], 'INVALID_ARGUMENT -- ARGS'],
    ['an unpaired surrogate', ['--', '\ud800'], 'INVALID_ARGUMENT -- ARGS'],
    ['arguments larger than metadata', ['--', 'x'.repeat(140_000)], 'ARGUMENTS_TOO_LARGE -- ARGS'],
    [
      '101 packages',
      [`--packages=${Array.from({ length: 101 }, () => 'gs://bkt/t.whl')}`],
      'TOO_MANY_PACKAGES --packages',
    ],
    ['65 labels', [`--labels=${Array.from({ length: 65 }, (_, index) => `k${index}=v`)}`], 'TOO_MANY_LABELS labels'],
    ['a label of 64 characters', [`--labels=k=${'v'.repeat(64)}`], 'INVALID_LABEL --labels'],
    ['a package with a wildcard', ['--packages=gs://bkt/*.whl'], 'INVALID_PACKAGE_URI --packages'],
    ['a job directory with dots', ['--job-dir=gs://bkt/../c'], 'INVALID_JOB_DIR --job-dir'],
  ])('rejects %s', (_, flags, expected) => {
    expect(check(flags).spec).toBeNull();
    expect(firstProblem(flags)).toBe(expected);
  });

  it.each([
    ['of 129 characters', 'a'.repeat(129)],
    ['that ends with a newline', 'a\n'],
  ])('rejects a job id %s', (_, value) => {
    const draft = { ...withFlags(EMPTY_DRAFT, [...PROGRAM, ...MACHINE]), jobId: { value, path: 'jobId' } };
    expect(checkJob(draft, CONTEXT)).toMatchObject({ spec: null, problems: [{ code: 'INVALID_JOB_ID' }] });
  });

  it('returns the zones that have the machine, sorted by name', () => {
    expect(check([]).zones).toEqual(['us-central1-a', 'us-central1-b', 'us-central1-c', 'us-central1-f']);
    expect(check(custom('n1-standard-8', 'NVIDIA_TESLA_P4', 1)).zones).toEqual(['us-central1-a', 'us-central1-c']);
  });

  it('uses the context’s package and module if the file has none', () => {
    const defaults = { ...CONTEXT.defaults, packageUris: ['gs://uploads/a.tar.gz'], pythonModule: 'found.task' };
    const { spec } = checkJob(withFlags(NAMED, MACHINE), { ...CONTEXT, defaults });
    expect(spec?.program).toMatchObject({ packageUris: ['gs://uploads/a.tar.gz'], module: 'found.task', args: [] });
  });

  it('rejects relative package paths if the job file is not in a bucket', () => {
    expect(firstProblem(['--packages=dist/a.whl'], { ...CONTEXT, packageBase: null })).toBe(
      'INVALID_PACKAGE_URI --packages',
    );
  });
});

describe('names, durations and URIs', () => {
  it.each([
    ['my job-1', 'my_job_1'],
    ['2021_run', 'job_2021_run'],
    ['', 'job'],
    ['ünï', 'n'],
    [`${'a'.repeat(127)}--b`, 'a'.repeat(127)],
  ])('suggests a valid job id for "%s"', (text, suggested) => {
    expect(suggestJobId(text)).toBe(suggested);
    expect(suggested).toMatch(JOB_ID_PATTERN);
  });

  it.each([
    ['3600s', 3_600_000],
    ['1.5s', 1_500],
    ['0.000000001s', 1],
    ['1.0005s', 1_001],
    ['1.1s', 1_100],
    ['3600', undefined],
    ['-1s', undefined],
    ['1e3s', undefined],
    ['1.0000000001s', undefined],
    [' 1s', undefined],
  ])('parses the duration "%s"', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it('prints durations that parse to the same value, and suggests a duration for common spellings', () => {
    expect(parseDurationMs(printDuration(1_001))).toBe(1_001);
    expect(['2h', '90 min', '3600', 'soon'].map(suggestDuration)).toEqual(['7200s', '5400s', '3600s', '3600s']);
  });

  it.each([
    ['gs://my-bucket/a/b/', { bucket: 'my-bucket', path: 'a/b' }],
    ['gs://my-bucket', { bucket: 'my-bucket', path: '' }],
    ['gs://my.domain.org/a b', { bucket: 'my.domain.org', path: 'a b' }],
  ])('parses %s as a Cloud Storage URI', (text, place) => {
    expect(parseStorageUri(text)).toEqual(place);
  });

  it.each([
    '',
    'gs://',
    'gs:/b/c',
    'GS://b/c',
    '/local',
    'gs://ab',
    'gs://UPPER/x',
    'gs://a..b/x',
    'gs://-ab/x',
    `gs://${'a'.repeat(64)}`,
    'gs://abc/./x',
    `gs://abc/${'x'.repeat(600)}`,
    'gs://abc/a\nb',
  ])('rejects "%s" as a Cloud Storage URI', (text) => {
    expect(parseStorageUri(text)).toHaveProperty('fault');
  });

  it('finds the most similar name, or none', () => {
    const known = ['region', 'jobDir', 'pythonModule'];
    expect(
      ['regoin', 'job-dir', 'PYTHON_MODULE', 'colour', 'x'.repeat(10_000)].map((name) => nearestName(name, known)),
    ).toEqual(['region', 'jobDir', 'pythonModule', undefined, undefined]);
  });
});

describe('paths of buckets in the arguments of a container', () => {
  const imageWith = (args: readonly string[]) =>
    checkJob(
      readJobFile(`image: us-docker.pkg.dev/a/b/c:1\nargs: ${JSON.stringify(args)}\noutput: gs://jobs/mine`, {
        fileName: 'job.yaml',
      }).draft ?? EMPTY_DRAFT,
      CONTEXT,
    ).warnings.filter(({ code }) => code === 'BUCKET_NOT_MOUNTED');

  it('are named if only the job directory is mounted', () => {
    expect(imageWith(['--out=/gcs/models/a', '/gcs/data', '/gcs/data'])).toMatchObject([
      { message: expect.stringContaining('the bucket models,'), remedy: expect.stringContaining('/gcs/jobs/mine') },
      { message: expect.stringContaining('the bucket data,') },
    ]);
  });

  it('are no warning in the job directory, in other words and in programs without a container', () => {
    expect(imageWith(['/gcs/jobs/mine/x', 'a/gcs/b', '/gcsfuse/x', '--x', '/gcs'])).toEqual([]);
    const { spec, warnings } = check(['--', '--data=/gcs/other/x']);
    expect([spec === null, warnings]).toEqual([false, []]);
  });
});
