import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { plan, type Resource } from '../support/terraform/deployed-state.ts';
import { isAllowed } from '../support/terraform/iam-policy.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const REQUIRED = ['-var=project_id=my-project', '-var=runtime_images={"2.11"={image="i"}}'];
const OWN_JOBS = [
  ...REQUIRED,
  '-var=only_own_jobs=true',
  '-var=operators=["user:grace@example.com","serviceAccount:ci@my-project.iam.gserviceaccount.com"]',
  '-var=submitters=["user:grace@example.com"]',
  '-var=upload_users=["user:ada@example.com","user:ida@example.com"]',
  '-var=job_accounts=["trainer@my-project.iam.gserviceaccount.com"]',
  '-var=api_access={members=["user:ada@example.com","user:grace@example.com"]}',
  '-var=iap_audience=/projects/1/locations/us-central1/services/dropforge-api',
];

let terraform: TerraformCopy;
let resources: readonly Resource[];

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await plan(terraform, '.', OWN_JOBS);
  });
  afterAll(() => terraform.close());
  describe('only_own_jobs', describeOwnJobs);
} else {
  describe('only_own_jobs', () => {
    it('is not tested: terraform is not installed', () => {
      expect(hasTerraform()).toBe(false);
    });
  });
}

const functionSchema = z.object({
  service_config: z.array(z.object({ environment_variables: z.record(z.string(), z.string()) })).length(1),
});

function environmentOf(name: string): Readonly<Record<string, string>> {
  const found = resources.find(({ type, key }) => type === 'google_cloudfunctions2_function' && key === name);
  return functionSchema.parse(found?.values).service_config[0]?.environment_variables ?? {};
}

/** Every grant to a member, apart from calling the API. */
function grantsOf(member: string) {
  return resources
    .filter(({ type, values }) => type.includes('_iam_member') && values.member === member)
    .map(({ values }) => ({ role: values.role, condition: values.condition }));
}

const ADA = 'users/ada@example.com/';

const nameOf = (bucket: string, path: string) => `projects/_/buckets/${bucket}/objects/${path}`;

/** Whether a user may do something with an object of a bucket. */
function may(user: string, action: string, { bucket, path }: { readonly bucket: string; readonly path: string }) {
  const request = { member: `user:${user}`, permission: `storage.objects.${action}`, on: bucket };
  return isAllowed(resources, { ...request, name: nameOf(bucket, path) });
}

/** Whether a user may list the objects whose names begin with a prefix. */
function mayList(user: string, bucket: string, prefix: string): boolean {
  return isAllowed(resources, { member: `user:${user}`, permission: 'storage.objects.list', on: bucket, prefix });
}

/** The jobs bucket, and that of the account that jobs may run as. */
function jobBuckets(): readonly string[] {
  return resources
    .filter(({ type, key }) => type === 'google_storage_bucket' && key?.startsWith('jobs'))
    .map(({ values }) => String(values.name));
}

function describeOwnJobs() {
  it('lets a user read and list the directories of own jobs in every bucket of jobs', () => {
    expect(jobBuckets()).toHaveLength(2);
    for (const bucket of jobBuckets()) {
      expect(may('ada@example.com', 'get', { bucket, path: `${ADA}mnist_1/model.json` }), bucket).toBe(true);
      expect(mayList('ada@example.com', bucket, ADA), bucket).toBe(true);
      expect(mayList('ada@example.com', bucket, `${ADA}mnist_1/`), bucket).toBe(true);
    }
  });

  it('lets no user read or list the directories of others, nor change a file of a job', () => {
    for (const bucket of jobBuckets()) {
      for (const path of [`${ADA}mnist_1/model.json`, 'mnist_1/model.json', 'users/ada@example.com.evil/x']) {
        expect(may('ida@example.com', 'get', { bucket, path }), path).toBe(false);
      }
      for (const prefix of [ADA, '', 'users/', 'users/ida@example.com']) {
        expect(mayList('ida@example.com', bucket, prefix), prefix).toBe(false);
      }
      const own = { bucket, path: `${ADA}mnist_1/model.json` };
      expect(['create', 'update', 'delete'].filter((action) => may('ada@example.com', action, own))).toEqual([]);
    }
  });

  it('lets a user write, read and list uploads in a folder of their own, and has no other grant for them', () => {
    const objects = 'projects/_/buckets/my-project-dropforge-uploads/objects/users/ada@example.com/';
    const listed =
      'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("users/ada@example.com/")';
    expect(grantsOf('user:ada@example.com')).toEqual([
      {
        role: 'roles/storage.objectUser',
        condition: [expect.objectContaining({ expression: `resource.name.startsWith("${objects}") || ${listed}` })],
      },
      { role: 'roles/storage.objectViewer', condition: [] },
      { role: 'roles/storage.objectViewer', condition: [] },
    ]);
  });

  it('is known to the functions that decide who owns a job, with operators and audiences', () => {
    expect(environmentOf('api')).toMatchObject({
      ONLY_OWN_JOBS: 'true',
      OPERATORS: 'ci@my-project.iam.gserviceaccount.com,grace@example.com',
      API_URL: 'https://dropforge-api-123456789012.us-central1.run.app',
      IAP_AUDIENCE: '/projects/1/locations/us-central1/services/dropforge-api',
    });
    expect(environmentOf('on-upload')).toMatchObject({ ONLY_OWN_JOBS: 'true' });
    expect(environmentOf('on-upload')).not.toHaveProperty('OPERATORS');
  });

  it('is off by default', async () => {
    const planned = await plan(terraform, '.', REQUIRED);
    const api = planned.find(({ type, key }) => type === 'google_cloudfunctions2_function' && key === 'api');
    expect(JSON.stringify(api)).toContain('API_URL');
    expect(JSON.stringify(api)).not.toContain('ONLY_OWN_JOBS');
  });

  it.each([
    [
      'submitters who are not operators',
      ['-var=only_own_jobs=true', '-var=submitters=["user:ada@example.com"]'],
      /submitters must be operators/,
    ],
    [
      'shells of members who are not operators',
      ['-var=only_own_jobs=true', '-var=shell_access={members=["user:ada@example.com"]}'],
      /members of shell_access must be operators/,
    ],
    ['a group of operators', ['-var=operators=["group:ops@example.com"]'], /does not know the members of groups/],
    ['several operators in one', ['-var=operators=["user:a@b.c,d@e.f"]'], /user:EMAIL or serviceAccount:EMAIL/],
    [
      'a folder of a group',
      ['-var=only_own_jobs=true', '-var=upload_users=["group:team@example.com"]'],
      /belongs to one address/,
    ],
    [
      'a folder whose name ends the condition',
      ['-var=only_own_jobs=true', '-var=upload_users=["user:a@b\\")||true||(\\""]'],
      /belongs to one address/,
    ],
    ['folders without only_own_jobs', ['-var=upload_users=["user:a@example.com"]'], /only with only_own_jobs/],
  ])('rejects %s', async (_, variables, message) => {
    const args = ['plan', '-input=false', '-refresh=false', ...REQUIRED, ...variables];
    const { status, output } = await terraform.run('.', args);
    expect([status, output.replaceAll(/\s*[│╵╷]\s*|\s+/g, ' ')]).toEqual([1, expect.stringMatching(message)]);
  });
}
