import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '#functions/read-settings.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, plan, type Resource } from '../support/terraform/deployed-state.ts';
import { isAllowed, listPermissions } from '../support/terraform/iam-policy.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const PROJECT = 'my-project';
const A = 'trainer@my-project.iam.gserviceaccount.com';
const B = 'vision@lab.example.com.iam.gserviceaccount.com';
const NETWORK = 'projects/host/global/networks/vpc';
const SHARED = 'projects/host/regions/us-central1/subnetworks/gpu';
const OWN = `projects/${PROJECT}/regions/us-central1/subnetworks/own`;
const ATTACHMENT = 'projects/data/regions/us-central1/networkAttachments/lake';
const KEY = 'projects/keys/locations/us-central1/keyRings/r/cryptoKeys/disks';

const SERVICE_AGENT = 'serviceAccount:service-123456789012@compute-system.iam.gserviceaccount.com';

const REQUIRED = [`-var=project_id=${PROJECT}`, '-var=runtime_images={"2.11"={image="i"}}'];
const VARIABLES = [
  ...REQUIRED,
  '-var=secrets=["hf-token","wandb-key"]',
  `-var=job_accounts=["${A}","${B}"]`,
  `-var=job_account_secrets={"${A}"=["hf-token"],"${B}"=["wandb-key"]}`,
  `-var=job_networks={"${NETWORK}"={subnetworks={us-central1="${SHARED}"},network_attachments=["${ATTACHMENT}"]},"projects/${PROJECT}/global/networks/n"={subnetworks={us-central1="${OWN}"}}}`,
  `-var=job_keys=["${KEY}"]`,
  '-var=data_buckets={lake="read",results="write"}',
];

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

const all = (type: string) => resources.filter((resource) => resource.type === type);
const memberOf = (email: string) => `serviceAccount:${email}`;
const functionAccount = (name: string) => `google_service_account/dropforge-${name}/member`;

const ACTIONS = ['get', 'list', 'create', 'update', 'delete'];

type Rights = {
  readonly accounts: Readonly<Record<string, { readonly bucket: string; readonly secrets: readonly string[] }>>;
};

function environmentOf(name: string): Readonly<Record<string, string>> {
  const found = all('google_cloudfunctions2_function').find(({ key }) => key === name);
  const [config] = (found?.values.service_config ?? []) as readonly Readonly<Record<string, unknown>>[];
  return config?.environment_variables as Readonly<Record<string, string>>;
}

const rightsIn = (name: string) => JSON.parse(environmentOf(name).JOB_RIGHTS ?? '{}') as Rights;
const bucketOf = (email: string) => rightsIn('on-upload').accounts[email]?.bucket ?? '';

/** Whether a VM with this account may do something with objects of a bucket. */
function may(email: string, action: string, bucket: string): boolean {
  const name = `projects/_/buckets/${bucket}/objects/some_job/model.json`;
  return isAllowed(resources, { member: memberOf(email), permission: `storage.objects.${action}`, on: bucket, name });
}

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('rights of jobs', describeRights);
} else {
  leaveOut('terraform', 'job rights');
}

function describeRights() {
  it.each([A, B])('let a job write and read the bucket of its own account: %s', (email) => {
    for (const action of ACTIONS) {
      expect(may(email, action, bucketOf(email)), action).toBe(true);
    }
  });

  it.each([
    [A, B],
    [B, A],
  ])('let a job under %s read nothing in the bucket of %s, nor in those of all other jobs', (email, other) => {
    expect(bucketOf(email)).not.toBe(bucketOf(other));
    for (const bucket of [bucketOf(other), `${PROJECT}-dropforge-jobs`, `${PROJECT}-dropforge-cache`]) {
      for (const action of ACTIONS) {
        expect(may(email, action, bucket), `${action} ${bucket}`).toBe(false);
      }
    }
  });

  it.each([memberOf(A), memberOf(B), functionAccount('vm')])(
    'let %s read its agent by name, and neither list nor write where it is',
    (member) => {
      const on = `${PROJECT}-dropforge-sources`;
      const name = `projects/_/buckets/${on}/objects/agent/${'ab'.repeat(32)}.pyz`;
      const allowed = ACTIONS.filter((action) =>
        isAllowed(resources, { member, permission: `storage.objects.${action}`, on, name }),
      );
      expect(allowed).toEqual(['get']);
    },
  );

  it("let the deployment's own VMs read nothing in the buckets of accounts", () => {
    const requests = [A, B].map((email) => ({ permission: 'storage.objects.get', on: bucketOf(email) }));
    for (const request of requests) {
      expect(isAllowed(resources, { ...request, member: functionAccount('vm') })).toBe(false);
    }
  });

  it('give an account what a VM needs: packages, its bucket and secrets, logs and heartbeats, and nothing else', () => {
    const ownBucket = ['create', 'delete', 'get', 'list', 'update'].map(
      (action) => `storage.objects.${action} on ${bucketOf(A)}`,
    );
    const [heartbeat] = all('google_cloud_run_service_iam_binding').filter(({ key }) => key === 'heartbeat');
    expect(listPermissions(resources, memberOf(A))).toEqual(
      [
        ...ownBucket,
        ...['get', 'list'].map((action) => `storage.objects.${action} on lake`),
        ...ACTIONS.map((action) => `storage.objects.${action} on results`),
        `storage.objects.get on ${PROJECT}-dropforge-uploads`,
        `storage.objects.get on ${PROJECT}-dropforge-sources`,
        'secretmanager.versions.access on hf-token',
        'logging.logEntries.create on *',
        `run.routes.invoke on ${heartbeat?.values.service}`,
      ].toSorted(),
    );
  });

  it('let provision attach the listed accounts and that of the deployment, and no other function attach any', () => {
    const attached = all('google_service_account_iam_member')
      .filter(({ values }) => values.role === 'roles/iam.serviceAccountUser')
      .map(({ values }) => [values.member, values.service_account_id]);
    expect(attached).toEqual(
      expect.arrayContaining([
        [functionAccount('provision'), expect.stringContaining('dropforge-vm')],
        [functionAccount('provision'), `projects/${PROJECT}/serviceAccounts/${A}`],
        // A project of an organization whose projects have its domain.
        [functionAccount('provision'), `projects/example.com:lab/serviceAccounts/${B}`],
      ]),
    );
    expect(attached).toHaveLength(3);
  });

  it('let the Compute Engine Service Agent, and no other member, create tokens of accounts of other projects', () => {
    const creators = all('google_service_account_iam_member')
      .filter(({ values }) => values.role === 'roles/iam.serviceAccountTokenCreator')
      .map(({ values }) => [values.member, values.service_account_id]);
    expect(creators).toEqual([[SERVICE_AGENT, `projects/example.com:lab/serviceAccounts/${B}`]]);
    const roles = resources.flatMap(({ type, values }) => (/_iam_/.test(type) ? [String(values.role)] : []));
    expect(roles.filter((role) => role === 'roles/iam.serviceAccountTokenCreator')).toHaveLength(1);
  });

  it('let intake and the API read the buckets of accounts, for validation, outputs and metrics', () => {
    for (const [name, actions] of [
      ['on-upload', ['list']],
      ['on-submit', ['list']],
      ['api', ['list', 'get', 'create']],
    ] as const) {
      for (const action of actions) {
        const request = { permission: `storage.objects.${action}`, on: bucketOf(A) };
        expect(isAllowed(resources, { ...request, member: functionAccount(name) }), `${name} ${action}`).toBe(true);
      }
    }
  });

  it('let VMs of every account read or write the buckets with data, and intake list them, one member each', () => {
    const grants = all('google_storage_bucket_iam_member').filter(({ values }) =>
      ['lake', 'results'].includes(String(values.bucket)),
    );
    const vms = [memberOf(A), memberOf(B), functionAccount('vm')];
    const intake = ['on-upload', 'on-submit', 'api'].map(functionAccount);
    const expected = [
      ...vms.map((member) => ['lake', 'roles/storage.objectViewer', member]),
      ...vms.map((member) => ['results', 'roles/storage.objectUser', member]),
      ...['lake', 'results'].flatMap((bucket) =>
        intake.map((member) => [bucket, 'roles/storage.legacyBucketReader', member]),
      ),
    ];
    const granted = grants.map(({ values }) => [values.bucket, values.role, values.member]);
    expect(granted.map(String).toSorted()).toEqual(expected.map(String).toSorted());
    for (const name of ['on-upload', 'on-submit', 'api'] as const) {
      expect(readSettings(name, environmentOf(name))).toMatchObject({
        settings: { DATA_BUCKETS: ['lake', 'results'] },
      });
    }
  });

  it.each(['{"gs://lake"="read"}', '{lake="admin"}'])('rejects data_buckets=%s', async (value) => {
    await expect(plan(terraform, '.', [...REQUIRED, `-var=data_buckets=${value}`])).rejects.toThrow(
      /Map names of buckets, without gs:\/\//,
    );
  });

  it('let provision use subnetworks of other projects, exactly those that are listed', () => {
    expect(all('google_compute_subnetwork_iam_member').map(({ values }) => values)).toMatchObject([
      {
        project: 'host',
        region: 'us-central1',
        subnetwork: 'gpu',
        role: 'roles/compute.networkUser',
        member: functionAccount('provision'),
      },
    ]);
  });

  it('let the Compute Engine Service Agent use the listed keys', () => {
    expect(all('google_kms_crypto_key_iam_member').map(({ values }) => [values.crypto_key_id, values.member])).toEqual([
      [KEY, SERVICE_AGENT],
    ]);
  });

  it('let provision create Private Service Connect interfaces only with network attachments', async () => {
    const permissionsIn = (found: readonly Resource[]) =>
      found.find(({ type, key }) => type === 'google_project_iam_custom_role' && key === 'vm_sources')?.values
        .permissions;
    expect(permissionsIn(resources)).toContain('compute.instances.pscInterfaceCreate');
    expect(permissionsIn(await plan(terraform, '.', REQUIRED))).not.toContain('compute.instances.pscInterfaceCreate');
  });

  it('reach the functions in the format that the code reads', () => {
    expect(rightsIn('on-upload')).toEqual({
      accounts: {
        [A]: { bucket: expect.stringMatching(/^my-project-dropforge-jobs-[0-9a-f]{8}$/), secrets: ['hf-token'] },
        [B]: { bucket: expect.stringMatching(/^my-project-dropforge-jobs-[0-9a-f]{8}$/), secrets: ['wandb-key'] },
      },
      networks: {
        [NETWORK]: { subnetworks: { 'us-central1': SHARED }, networkAttachments: [ATTACHMENT] },
        [`projects/${PROJECT}/global/networks/n`]: { subnetworks: { 'us-central1': OWN }, networkAttachments: [] },
      },
      keys: [KEY],
    });
    for (const name of ['on-upload', 'on-submit', 'on-dead-letter', 'api', 'provision'] as const) {
      expect(readSettings(name, environmentOf(name)), name).not.toHaveProperty('problem');
      expect(rightsIn(name)).toEqual(rightsIn('on-upload'));
    }
  });

  it('delete installed packages from the buckets of accounts as from the cache, and outputs as from the jobs bucket', () => {
    type Condition = {
      readonly age: number;
      readonly matches_prefix: readonly string[];
      readonly matches_suffix: readonly string[];
    };
    const conditionsOf = (key: string) => {
      const found = all('google_storage_bucket').find((bucket) => bucket.key === key);
      const rules = Object(found?.values).lifecycle_rule as readonly { readonly condition: readonly Condition[] }[];
      return rules
        .flatMap(({ condition }) => condition)
        .map((rule) => [rule.age, rule.matches_prefix, rule.matches_suffix]);
    };
    const own = conditionsOf(bucketOf(A).replace(`${PROJECT}-dropforge-`, ''));
    expect(conditionsOf('cache')).toContainEqual([8, [], []]);
    expect(own).toContainEqual([8, ['environments-2/'], []]);
    expect(own).toContainEqual([2, [], ['.dropforge-part']]);
    expect(own.map(([, prefixes]) => prefixes)).not.toContainEqual(['_uploads/']);
    expect(cachedEnvironmentsIn(bucketOf(A)).uri).toMatch(/^gs:\/\/[^/]+\/environments-2$/);
  });
}
