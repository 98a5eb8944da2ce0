import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES } from '#functions/functions.ts';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, type Resource } from '../support/terraform/deployed-state.ts';
import { isAllowed, listPermissions } from '../support/terraform/iam-policy.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const PROJECT = 'my-project';
const VARIABLES = [
  `-var=project_id=${PROJECT}`,
  '-var=runtime_images={"2.11"={image="i"}}',
  '-var=notifications={team={kind="slack",secret="slack-team"}}',
  '-var=secrets=["hf-token","wandb-key"]',
];

/** Functions that handle events of jobs and tunings, and therefore publish their outboxes to these topics. */
const PUBLISHING = FUNCTION_NAMES.filter((name) => name !== 'report' && name !== 'notify');
const STAGES = ['job-updates', 'provision', 'teardown', 'tuning'];

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

const all = (type: string) => resources.filter((resource) => resource.type === type);

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('permissions', describePermissions);
} else {
  leaveOut('terraform', 'permissions');
}

/** Short name of a service account, from its member, e-mail or full name; other members unchanged. */
function accountOf(member: unknown): string {
  return /google_service_account\/dropforge-([a-z-]+)\//.exec(String(member))?.[1] ?? String(member);
}

const memberOf = (account: string) => `google_service_account/dropforge-${account}/member`;

/** Lists the grants of a resource type as `account → target`, sorted. */
function listGrants(type: string, target: (values: Resource['values']) => unknown): readonly string[] {
  return all(type)
    .map(({ values }) => `${accountOf(values.member)} → ${target(values)}`)
    .sort();
}

function describePermissions() {
  it('use one account per function, and one each for VMs, push requests and builds', () => {
    const accounts = all('google_service_account').map(({ values }) => values.account_id);
    expect(accounts.sort()).toEqual(
      [...FUNCTION_NAMES, 'vm', 'push', 'build'].map((name) => `dropforge-${name}`).sort(),
    );
  });

  it('on the project are exactly these', () => {
    const short = (role: unknown) => String(role).replace(/^google_project_iam_custom_role\/(\w+)\/name$/, '$1');
    const database = [
      ...PUBLISHING.map((name) => `${name} → roles/datastore.user`),
      'report → roles/datastore.viewer',
      'notify → roles/datastore.user',
    ];
    const others = [
      'provision → dropforge_vm_creator',
      'provision → dropforge_vm_sources',
      'teardown → dropforge_vm_lister',
      'teardown → dropforge_vm_remover',
      'api → dropforge_log_reader',
      ...['api', 'on-submit', 'on-upload'].map((intake) => `${intake} → dropforge_secret_checker`),
      'api → roles/logging.viewAccessor',
      'vm → roles/logging.logWriter',
      'build → roles/logging.logWriter',
      'build → roles/storage.objectViewer',
    ];
    expect(listGrants('google_project_iam_member', ({ role }) => short(role))).toEqual([...database, ...others].sort());
  });

  it('on Firestore are limited to one database', () => {
    const conditions = all('google_project_iam_member')
      .filter(({ values }) => String(values.role).startsWith('roles/datastore.'))
      .map(({ values }) => (values.condition as readonly { readonly expression: string }[])[0]?.expression);
    expect(new Set(conditions)).toEqual(new Set([`resource.name == "projects/${PROJECT}/databases/dropforge"`]));
  });

  it('let builds read only the function archives in Cloud Functions’ own bucket', () => {
    const viewer = all('google_project_iam_member').find(({ values }) => values.role === 'roles/storage.objectViewer');
    expect(viewer?.values.condition).toMatchObject([
      { expression: 'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-123456789012-")' },
    ]);
  });

  it('include listing for every account that reads possibly missing objects: others get 403 instead of 404', () => {
    const grants = all('google_storage_bucket_iam_member').map(({ key }) => String(key).split('/'));
    const accountsWith = (right: string) =>
      grants.flatMap(([account, bucket, has]) => (bucket === 'uploads' && has === right ? [account] : []));
    expect(
      accountsWith('report').filter((account) => ![...accountsWith('list'), ...accountsWith('read')].includes(account)),
    ).toEqual([]);
    expect(accountsWith('report')).toHaveLength(4);
  });

  it('on instances belong to provision and teardown only', () => {
    const computeRoles = all('google_project_iam_custom_role')
      .filter(({ values }) => JSON.stringify(values.permissions).includes('compute.'))
      .map(({ values }) => values.role_id);
    expect(computeRoles.sort()).toEqual([
      'dropforge_vm_creator',
      'dropforge_vm_lister',
      'dropforge_vm_remover',
      'dropforge_vm_sources',
    ]);
    const granted = [...all('google_project_iam_member'), ...all('google_service_account_iam_member')];
    expect(granted.filter(({ values }) => /roles\/(compute|owner|editor|admin)/.test(String(values.role)))).toEqual([]);
  });

  it('let provision and teardown change only VMs that have the name of a replica, and teardown create none', () => {
    const replica = { role: 'master' as const, index: 0 };
    const vmName = vmNameOf('digits_1', 1, replica);
    const may = (account: string, action: string, instance: string) =>
      isAllowed(resources, {
        member: memberOf(account),
        permission: `compute.instances.${action}`,
        on: '*',
        name: `projects/${PROJECT}/zones/us-central1-a/instances/${instance}`,
      });
    for (const action of ['create', 'delete', 'setLabels', 'setMetadata', 'setServiceAccount', 'setTags']) {
      expect([may('provision', action, vmName), may('provision', action, 'database')], action).toEqual([true, false]);
    }
    expect([may('teardown', 'delete', vmName), may('teardown', 'delete', 'database')]).toEqual([true, false]);
    expect([may('teardown', 'create', vmName), may('teardown', 'setMetadata', vmName)]).toEqual([false, false]);
  });

  it('let provision and teardown read every VM: a condition on names would answer 403 to a list', () => {
    const unconditional = all('google_project_iam_member').filter(
      ({ values }) => (values.condition as readonly unknown[]).length === 0,
    );
    const permissionsOf = (account: string) =>
      listPermissions([...unconditional, ...all('google_project_iam_custom_role')], memberOf(account));
    expect(permissionsOf('teardown')).toEqual([
      'compute.instances.get on *',
      'compute.instances.list on *',
      'compute.zoneOperations.get on *',
    ]);
    expect(permissionsOf('provision').filter((permission) => permission.startsWith('compute.instances.'))).toEqual([
      'compute.instances.get on *',
    ]);
  });

  it('let only provision attach the VM account, and no other account', () => {
    const actors = all('google_service_account_iam_member').map(
      ({ values }) => `${accountOf(values.member)} as ${accountOf(values.service_account_id)}: ${values.role}`,
    );
    expect(actors).toEqual(['provision as vm: roles/iam.serviceAccountUser']);
  });

  it('let functions read uploads only for intake, and write only reports there', () => {
    const onReports = (values: Resource['values']) => {
      const [condition] = values.condition as readonly { readonly expression: string }[];
      return condition === undefined ? '' : ` if ${condition.expression}`;
    };
    const bucket = (name: unknown) => String(name).replace(`${PROJECT}-dropforge-`, '');
    const isReport = ` if resource.name.endsWith("${REPORT_SUFFIX}")`;
    const grants = listGrants(
      'google_storage_bucket_iam_member',
      (values) => `${bucket(values.bucket)} ${values.role}${onReports(values)}`,
    );
    expect(grants).toEqual(
      [
        ...['on-upload', 'on-submit'].flatMap((intake) => [
          `${intake} → uploads roles/storage.objectViewer`,
          `${intake} → uploads roles/storage.objectUser${isReport}`,
          `${intake} → jobs roles/storage.legacyBucketReader`,
        ]),
        // It ends the reports of job files that waited for a package.
        'on-dead-letter → uploads roles/storage.objectViewer',
        `on-dead-letter → uploads roles/storage.objectUser${isReport}`,
        'report → uploads roles/storage.legacyBucketReader',
        `report → uploads roles/storage.objectUser${isReport}`,
        'provision → jobs roles/storage.objectViewer if resource.name.endsWith("/dropforge-manifest.json")',
        // It validates packages, and stores those that are uploaded through it.
        'api → uploads roles/storage.objectViewer',
        'api → jobs roles/storage.objectCreator',
        'api → jobs roles/storage.objectViewer',
        'vm → uploads roles/storage.legacyObjectReader',
        'vm → sources roles/storage.legacyObjectReader',
        'vm → jobs roles/storage.objectUser',
        'vm → cache roles/storage.objectCreator',
        'vm → cache roles/storage.objectViewer',
        'build → sources roles/storage.legacyObjectReader',
      ].sort(),
    );
  });

  it('let exactly these accounts publish to each topic', () => {
    const agents = [
      'google_logging_project_sink/dropforge-interruptions/writer_identity → dropforge-interruptions',
      'google_storage_project_service_account/member → dropforge-uploads',
      'serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com → dropforge-dead-letters',
    ];
    const stages = PUBLISHING.flatMap((name) => STAGES.map((stage) => `${name} → ${TOPIC_PREFIX}${stage}`));
    expect(listGrants('google_pubsub_topic_iam_member', ({ topic }) => topic)).toEqual([...stages, ...agents].sort());
    expect(new Set(all('google_pubsub_topic_iam_member').map(({ values }) => values.role))).toEqual(
      new Set(['roles/pubsub.publisher']),
    );
  });

  it('let VMs read secrets, and notify those of the channels, granted on each secret', () => {
    const secretRole = ({ secret_id: secret, role }: Resource['values']) => `${secret} ${role}`;
    expect(listGrants('google_secret_manager_secret_iam_member', secretRole)).toEqual([
      'notify → slack-team roles/secretmanager.secretAccessor',
      'vm → hf-token roles/secretmanager.secretAccessor',
      'vm → wandb-key roles/secretmanager.secretAccessor',
    ]);
    expect(JSON.stringify(all('google_project_iam_member'))).not.toContain('secretmanager');
    expect(resources.filter(({ type }) => type.includes('secret_version'))).toEqual([]);
  });

  it('let intake read the metadata of secrets that a job names: no value, and no list of them', () => {
    const onSecrets = FUNCTION_NAMES.flatMap((account) =>
      listPermissions(resources, memberOf(account))
        .filter((permission) => permission.startsWith('secretmanager.'))
        .map((permission) => `${account}: ${permission}`),
    );
    expect(onSecrets.sort()).toEqual([
      'api: secretmanager.versions.get on *',
      'notify: secretmanager.versions.access on slack-team',
      'on-submit: secretmanager.versions.get on *',
      'on-upload: secretmanager.versions.get on *',
    ]);
  });

  it('let VMs call one function, read the agent, write one bucket, add to the cache, read the secrets, and write logs', () => {
    const vmGrants = resources
      .filter(({ type }) => type.includes('_iam_'))
      .filter(({ values }) => JSON.stringify([values.member, values.members]).includes('dropforge-vm/member'))
      .map(({ type, values }) => `${type} ${values.role}`);
    expect(vmGrants.sort()).toEqual([
      'google_cloud_run_service_iam_binding roles/run.invoker',
      'google_project_iam_member roles/logging.logWriter',
      'google_secret_manager_secret_iam_member roles/secretmanager.secretAccessor',
      'google_secret_manager_secret_iam_member roles/secretmanager.secretAccessor',
      'google_storage_bucket_iam_member roles/storage.legacyObjectReader',
      'google_storage_bucket_iam_member roles/storage.legacyObjectReader',
      'google_storage_bucket_iam_member roles/storage.objectCreator',
      'google_storage_bucket_iam_member roles/storage.objectUser',
      'google_storage_bucket_iam_member roles/storage.objectViewer',
    ]);
  });

  it('contain no account keys and no public members', () => {
    expect(resources.length).toBeGreaterThan(150);
    expect(resources.filter(({ type }) => type.includes('_key') && !type.startsWith('google_kms'))).toEqual([]);
    expect(resources.filter(({ values }) => /allUsers|allAuthenticatedUsers/.test(JSON.stringify(values)))).toEqual([]);
    const buckets = all('google_storage_bucket').map(({ values }) => values);
    expect(buckets.every((bucket) => bucket.public_access_prevention === 'enforced')).toBe(true);
    expect(buckets.every((bucket) => bucket.uniform_bucket_level_access === true)).toBe(true);
  });

  it('are documented in terraform/README.md for every account', () => {
    const readme = readFileSync(new URL('../../terraform/README.md', import.meta.url), 'utf8');
    const table = readme.slice(readme.indexOf('## Permissions'));
    const documented = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
    expect(documented.sort()).toEqual([...FUNCTION_NAMES, 'vm', 'push', 'build'].sort());
  });
}
