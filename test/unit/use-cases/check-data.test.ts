import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transferPerGibUsd } from '#shared/catalog/data-transfer.ts';
import { AccessDeniedError, type BucketLocation, type ObjectStore } from '#shared/ports/object-store.ts';
import { checkData } from '#shared/use-cases/intake/checks/data.ts';
import { dataUsesOf } from '#shared/use-cases/intake/checks/data-uses.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

let api: ApiUnderTest;

const specOf = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
  const { spec } = queuedJob();
  return { ...spec, program: { ...spec.program, args, environment } };
};

const put = (bucket: string, name: string, bytes = 1) => api.objects.write({ bucket, name }, Buffer.alloc(bytes));

type Circumstances = {
  readonly place?: BucketLocation;
  readonly objects?: Partial<ObjectStore>;
  readonly dataBuckets?: readonly string[] | undefined;
};

/** Checks the arguments of a job in us-central1, by default against a deployment that has granted `data`. */
function check(args: readonly string[], given: Circumstances = {}) {
  const { place = { location: 'us-central1', regions: [] }, dataBuckets = ['data'] } = given;
  const locateBucket: ObjectStore['locateBucket'] = async (bucket) =>
    (await api.objects.hasBucket(bucket)) ? place : 'MISSING';
  const objects = { ...api.objects, locateBucket, ...given.objects };
  const intake = 'dataBuckets' in given ? { dataBuckets: given.dataBuckets } : { dataBuckets };
  return runCheck(checkData, { spec: specOf(args) }, { objects, intake });
}

const FINE = { problems: [], warnings: [], missing: [], unavailable: [], pins: {} };

describe('data that a job reads', () => {
  beforeEach(async () => {
    api = await openApiUnderTest();
    api.objects.createBucket('data');
  });
  afterEach(() => api.close());

  it('is found as an object, as a folder, by a prefix and by a wildcard', async () => {
    await put('data', 'train/a.csv');
    await put('data', 'model.ckpt-100.index');
    const uris = ['gs://data/train/a.csv', 'gs://data/train', '--data=gs://data/train/', '/gcs/data/train/a.csv'];
    expect(await check([...uris, 'gs://data/*/a.csv', 'gs://data/model.ckpt-100', 'gs://data'])).toEqual(FINE);
  });

  it('and does not exist is named with the nearest name in the deepest folder that exists', async () => {
    // A folder of more than a page sorts before it.
    await Promise.all(Array.from({ length: 1_001 }, (_, index) => put('data', `test/${index}`)));
    await put('data', 'train/b.csv');
    const typos = ['gs://data/trian/', 'gs://data/trian/deep/a.csv', 'gs://data/train/b1.csv', 'gs://data/x/y'];
    const { problems, warnings } = await check(typos);
    expect(problems).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual([
      'gs://data/trian/ has no objects; gs://data/train/ exists.',
      'gs://data/trian/deep/a.csv has no objects; gs://data/train/ exists.',
      'gs://data/train/b1.csv has no objects; gs://data/train/b.csv exists.',
      'gs://data/x/y has no objects.',
    ]);
  });

  it('and does not exist is a warning unless the name of its flag says that the program writes it', async () => {
    const models = ['--model_name_or_path', '--pretrained-model', '--base_model', '--init-checkpoint'];
    const read = ['--data-dir', '--train_files', '--timeout-data', '--catalog', ...models];
    const written = ['--output', '--job-dir', '--checkpoint_dir', '--model-dir', '--outputPath', '--logdir'];
    const flags = [...read, ...written];
    const { warnings } = await check(flags.flatMap((flag, index) => [flag, `gs://data/${flag}${index}/`]));
    expect(warnings.map(({ code }) => code)).toEqual(read.map(() => 'DATA_NOT_FOUND'));
    expect(await check(written.map((flag) => `${flag}=gs://data/new`))).toEqual(FINE);
  });

  it('in a bucket that does not exist is a problem, with the nearest bucket of the deployment', async () => {
    expect(await check(['gs://datta/train/'])).toMatchObject({
      problems: [{ code: 'DATA_BUCKET_MISSING', remedy: expect.stringMatching(/^Did you mean "data"\? /) }],
      warnings: [],
    });
  });

  it('in a bucket that this machine does not have is a warning: it may be a public one of Google', async () => {
    const { problems, warnings } = await check(['gs://cloud-samples-data/x'], { dataBuckets: undefined });
    expect({ problems, warnings }).toMatchObject({
      problems: [],
      warnings: [
        {
          code: 'DATA_BUCKET_MISSING',
          message: 'The bucket cloud-samples-data, which the job names, is not in this embedded cloud.',
          remedy: expect.stringMatching(/go on to Google/),
        },
      ],
    });
  });

  it('has an access that is known for buckets of the deployment and of data_buckets alone', async () => {
    await put('data', 'a');
    api.objects.createBucket('theirs');
    await put('theirs', 'a');
    expect(await check(['gs://data/a', 'gs://theirs/a'])).toMatchObject({
      problems: [],
      warnings: [
        {
          code: 'DATA_NOT_CHECKED',
          message: 'Whether the account of the VMs may read theirs was not checked.',
          remedy: expect.stringContaining('data_buckets = { …, "theirs" = "read" }'),
        },
      ],
    });
  });

  it('in the bucket of another account is said to be unreadable', async () => {
    const other = 'b@p-project.iam.gserviceaccount.com';
    const rights = { ...api.ports.intake.rights, accounts: { [other]: { bucket: 'others', secrets: null } } };
    api.objects.createBucket('others');
    await put('others', 'a');
    const job = { spec: specOf(['gs://others/a', 'gs://jobs/']) };
    const intake = { rights, dataBuckets: [] };
    const { warnings } = await runCheck(checkData, job, { objects: api.objects, intake });
    expect(warnings).toMatchObject([
      {
        code: 'DATA_OF_OTHER_ACCOUNT',
        message: 'Terraform gives the account of the VMs no access to others, a bucket of jobs with another account.',
      },
      { code: 'DATA_NOT_FOUND', message: 'gs://jobs/ has no objects.' },
    ]);
  });

  it.each([
    ['may not be listed', () => Promise.reject(new AccessDeniedError({ bucket: 'data', name: '' }))],
    ['fails', () => Promise.reject(new Error('503'))],
  ])('whose bucket %s is a warning, and rejects nothing', async (_, list) => {
    const { problems, warnings } = await check(['gs://data/a'], { objects: { list } });
    expect(problems).toEqual([]);
    expect(warnings).toMatchObject([{ code: 'DATA_NOT_CHECKED', message: 'gs://data/a could not be checked.' }]);
  });

  it('in another region is a warning with the price of a GiB and of what is there', async () => {
    await put('data', 'train/a', 3 * 1_024 ** 2);
    const { warnings } = await check(['gs://data/train/'], { place: { location: 'europe-west4', regions: [] } });
    expect(warnings).toMatchObject([
      {
        code: 'DATA_IN_OTHER_REGION',
        message:
          'gs://data is in europe-west4 and the VMs run in us-central1: data between them costs about $0.05 per GiB. gs://data/train/ has 0.003 GiB, $0.0001 each time.',
      },
    ]);
  });

  it('beyond the first 20 is reported as not checked', async () => {
    const uris = Array.from({ length: 22 }, (_, index) => `gs://data/${index}`);
    await Promise.all(uris.map((_, index) => put('data', String(index))));
    const { warnings } = await check(uris);
    expect(warnings).toMatchObject([{ message: 'gs://data/20, gs://data/21 could not be checked.' }]);
  });

  it('is checked when a job is submitted', async () => {
    const job = 'name: digits\nmodule: trainer.task\nmachine: n1-standard-4\nargs: [--data=gs://nowhere-at-all/x]\n';
    const bytes = await packFiles({ 'trainer/__init__.py': '', 'trainer/task.py': '', 'job.yaml': job });
    const headers = { 'content-type': 'application/octet-stream' };
    const path = '/v1/uploads/a0b1c2d3e4f5a6b7';
    await api.request(`${path}/parts/1`, { method: 'PUT', headers, body: Buffer.from(bytes) });
    const { body } = await api.post(`${path}:validate`, { fileName: 'digits.tar.gz', partCount: 1 });
    expect(body.warnings).toMatchObject([{ code: 'DATA_BUCKET_MISSING' }]);
  });
});

it('finds data in arguments, variables and values of a study, but no placeholders and not the job directory', () => {
  const { study, ...spec } = specOf(
    ['--files=gs://aaa/x,gs://bbb/y', '{"p":"gs://ccc/z"}', 'gs://{bucket}/x', 'gs://a-$B/x'],
    {
      DATA: '/gcs/ddd/w',
      OWN: `${queuedJob().spec.jobDir}/model`,
    },
  );
  const programOptions = { ...spec.programOptions, resumeArguments: ['--from=gs://fff/u'] };
  const parameters = [{ id: 'set', kind: 'CATEGORICAL', values: ['gs://eee/v'] }];
  const uses = dataUsesOf({ ...spec, programOptions, study: { parameters } as never });
  expect(uses.map(({ uri }) => uri)).toEqual([
    'gs://aaa/x',
    'gs://bbb/y',
    'gs://ccc/z',
    'gs://ddd/w',
    'gs://eee/v',
    'gs://fff/u',
  ]);
  expect(study).toBeNull();
});

it.each<readonly [location: string, regions: readonly string[], region: string, price: number | null]>([
  ['us-central1', [], 'us-central1', 0],
  ['us-east1', [], 'us-central1', 0.02],
  ['us', [], 'us-central1', 0.02],
  ['nam4', [], 'us-central1', 0],
  ['us', ['us-central1', 'us-west1'], 'us-west1', 0],
  ['us', ['us-central1', 'us-west1'], 'us-east1', 0.02],
  ['eu', [], 'us-central1', 0.05],
  ['asia-east1', [], 'europe-west4', 0.08],
  ['moon-1', [], 'us-central1', null],
])('a GiB between a bucket in %s %j and VMs in %s costs %s', (...row) => {
  const [location, regions, region, price] = row;
  expect(transferPerGibUsd({ location, regions }, region)).toBe(price);
});
