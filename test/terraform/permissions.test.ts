import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { apply, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, FUNCTION_NAMES, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const PROJECT = 'my-project';
const VARIABLES = [
  `-var=project_id=${PROJECT}`,
  '-var=runtime_images={"2.11"={image="i"}}',
  '-var=secrets=["hf-token","wandb-key"]',
];

/** Functions that handle a job's events, and so pay what the job owes: messages to these topics. */
const PAYING = FUNCTION_NAMES.filter((name) => name !== 'report');
const STAGES = ['job-updates', 'provision', 'teardown'];

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

const all = (type: string) => resources.filter((resource) => resource.type === type);

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('who may do what', describePermissions);
} else {
  describe('who may do what', () => {
    it('is not looked at: there is no terraform on this machine', () => {
      expect(hasTerraform()).toBe(false);
    });
  });
}

/** The short name of one of our accounts, from any of the ways in which it is named. */
function accountOf(member: unknown): string {
  return /google_service_account\/dropforge-([a-z-]+)\//.exec(String(member))?.[1] ?? String(member);
}

/** `account → what`, sorted: what a policy says, in one line each. */
function rights(type: string, what: (values: Resource['values']) => unknown): readonly string[] {
  return all(type)
    .map(({ values }) => `${accountOf(values.member)} → ${what(values)}`)
    .sort();
}

function describePermissions() {
  it('is said for an account of its own for each function, for VMs, for pushes and for builds', () => {
    const accounts = all('google_service_account').map(({ values }) => values.account_id);
    expect(accounts.sort()).toEqual(
      [...FUNCTION_NAMES, 'vm', 'push', 'build'].map((name) => `dropforge-${name}`).sort(),
    );
  });

  it('leaves nobody more in the whole project than this', () => {
    const short = (role: unknown) => String(role).replace(/^google_project_iam_custom_role\/(\w+)\/name$/, '$1');
    const database = [...PAYING.map((name) => `${name} → roles/datastore.user`), 'report → roles/datastore.viewer'];
    const others = [
      'provision → dropforge_vm_creator',
      'teardown → dropforge_vm_remover',
      'api → dropforge_log_reader',
      'vm → roles/logging.logWriter',
      'build → roles/logging.logWriter',
      'build → roles/storage.objectViewer',
    ];
    expect(rights('google_project_iam_member', ({ role }) => short(role))).toEqual([...database, ...others].sort());
  });

  it('limits every right to the database to the one database', () => {
    const conditions = all('google_project_iam_member')
      .filter(({ values }) => String(values.role).startsWith('roles/datastore.'))
      .map(({ values }) => (values.condition as readonly { readonly expression: string }[])[0]?.expression);
    expect(new Set(conditions)).toEqual(new Set([`resource.name == "projects/${PROJECT}/databases/dropforge"`]));
  });

  it('lets builds read the archives of functions alone in Cloud Functions’ own bucket', () => {
    const viewer = all('google_project_iam_member').find(({ values }) => values.role === 'roles/storage.objectViewer');
    expect(viewer?.values.condition).toMatchObject([
      { expression: 'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-123456789012-")' },
    ]);
  });

  it('lets everybody list a bucket who looks there for what may be missing: others are told 403 instead of 404', () => {
    const grants = all('google_storage_bucket_iam_member').map(({ key }) => String(key).split('/'));
    const may = (right: string) =>
      grants.flatMap(([account, bucket, has]) => (bucket === 'uploads' && has === right ? [account] : []));
    expect(may('report').filter((account) => ![...may('list'), ...may('read')].includes(account))).toEqual([]);
    expect(may('report')).toHaveLength(4);
  });

  it('lets provision and teardown touch instances, and nobody else', () => {
    const touching = all('google_project_iam_custom_role')
      .filter(({ values }) => JSON.stringify(values.permissions).includes('compute.'))
      .map(({ values }) => values.role_id);
    expect(touching.sort()).toEqual(['dropforge_vm_creator', 'dropforge_vm_remover']);
    const granted = [...all('google_project_iam_member'), ...all('google_service_account_iam_member')];
    expect(granted.filter(({ values }) => /roles\/(compute|owner|editor|admin)/.test(String(values.role)))).toEqual([]);
  });

  it('lets teardown delete VMs, and create none', () => {
    const remover = all('google_project_iam_custom_role').find(({ key }) => key === 'vm_remover');
    expect(remover?.values.permissions).toEqual([
      'compute.instances.delete',
      'compute.instances.get',
      'compute.instances.list',
      'compute.zoneOperations.get',
    ]);
  });

  it('lets provision alone run VMs as their account, and as no other', () => {
    const actors = all('google_service_account_iam_member').map(
      ({ values }) => `${accountOf(values.member)} as ${accountOf(values.service_account_id)}: ${values.role}`,
    );
    expect(actors).toEqual(['provision as vm: roles/iam.serviceAccountUser']);
  });

  it('lets functions read uploads only for intake, and write there only reports', () => {
    const onReports = (values: Resource['values']) => {
      const [condition] = values.condition as readonly { readonly expression: string }[];
      return condition === undefined ? '' : ` if ${condition.expression}`;
    };
    const bucket = (name: unknown) => String(name).replace(`${PROJECT}-dropforge-`, '');
    const isReport = ` if resource.name.endsWith("${REPORT_SUFFIX}")`;
    const told = rights(
      'google_storage_bucket_iam_member',
      (values) => `${bucket(values.bucket)} ${values.role}${onReports(values)}`,
    );
    expect(told).toEqual(
      [
        ...['on-upload', 'on-submit'].flatMap((intake) => [
          `${intake} → uploads roles/storage.objectViewer`,
          `${intake} → uploads roles/storage.objectUser${isReport}`,
          `${intake} → jobs roles/storage.legacyBucketReader`,
        ]),
        ...['report', 'on-dead-letter'].flatMap((writer) => [
          `${writer} → uploads roles/storage.legacyBucketReader`,
          `${writer} → uploads roles/storage.objectUser${isReport}`,
        ]),
        'vm → uploads roles/storage.legacyObjectReader',
        'vm → jobs roles/storage.objectUser',
        'build → sources roles/storage.legacyObjectReader',
      ].sort(),
    );
  });

  it('lets each topic be published to by those who have something to say there', () => {
    const agents = [
      'google_logging_project_sink/dropforge-interruptions/writer_identity → dropforge-interruptions',
      'google_storage_project_service_account/member → dropforge-uploads',
      'serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com → dropforge-dead-letters',
    ];
    const stages = PAYING.flatMap((name) => STAGES.map((stage) => `${name} → ${TOPIC_PREFIX}${stage}`));
    expect(rights('google_pubsub_topic_iam_member', ({ topic }) => topic)).toEqual([...stages, ...agents].sort());
    expect(new Set(all('google_pubsub_topic_iam_member').map(({ values }) => values.role))).toEqual(
      new Set(['roles/pubsub.publisher']),
    );
  });

  it('lets VMs read each of the secrets, and nobody else any, by a right on the secret itself', () => {
    const reads = ({ secret_id: secret, role }: Resource['values']) => `${secret} ${role}`;
    expect(rights('google_secret_manager_secret_iam_member', reads)).toEqual([
      'vm → hf-token roles/secretmanager.secretAccessor',
      'vm → wandb-key roles/secretmanager.secretAccessor',
    ]);
    expect(JSON.stringify(all('google_project_iam_member'))).not.toContain('secretmanager');
    expect(resources.filter(({ type }) => type.includes('secret_version'))).toEqual([]);
  });

  it('gives VMs one function to call, one bucket to write, the secrets to read, and the log', () => {
    const vmRights = resources
      .filter(({ type }) => type.includes('_iam_'))
      .filter(({ values }) => JSON.stringify([values.member, values.members]).includes('dropforge-vm/member'))
      .map(({ type, values }) => `${type} ${values.role}`);
    expect(vmRights.sort()).toEqual([
      'google_cloud_run_service_iam_binding roles/run.invoker',
      'google_project_iam_member roles/logging.logWriter',
      'google_secret_manager_secret_iam_member roles/secretmanager.secretAccessor',
      'google_secret_manager_secret_iam_member roles/secretmanager.secretAccessor',
      'google_storage_bucket_iam_member roles/storage.legacyObjectReader',
      'google_storage_bucket_iam_member roles/storage.objectUser',
    ]);
  });

  it('knows no keys and no public', () => {
    expect(resources.length).toBeGreaterThan(150);
    expect(resources.filter(({ type }) => type.includes('_key') && !type.startsWith('google_kms'))).toEqual([]);
    expect(resources.filter(({ values }) => /allUsers|allAuthenticatedUsers/.test(JSON.stringify(values)))).toEqual([]);
    const buckets = all('google_storage_bucket').map(({ values }) => values);
    expect(buckets.every((bucket) => bucket.public_access_prevention === 'enforced')).toBe(true);
    expect(buckets.every((bucket) => bucket.uniform_bucket_level_access === true)).toBe(true);
  });

  it('is explained in terraform/README.md for every account', () => {
    const readme = readFileSync(new URL('../../terraform/README.md', import.meta.url), 'utf8');
    const table = readme.slice(readme.indexOf('## Who may do what'));
    const explained = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual([...FUNCTION_NAMES, 'vm', 'push', 'build'].sort());
  });
}
