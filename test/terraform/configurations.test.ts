import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES } from '#functions/functions.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, plan } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const ROOT = new URL('../../terraform/', import.meta.url);
const list = (folder: string) => readdirSync(new URL(folder, ROOT)).map((name) => `${folder}/${name}`);

const MODULES = list('modules');
const EXAMPLES = list('examples');

const KEY = 'projects/keys/locations/europe-west4/keyRings/r/cryptoKeys/k';
const EXAMPLE_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'examples/minimal': ['-var=project_id=my-project'],
  'examples/perimeter': [
    '-var=project_id=my-project',
    '-var=project_number=123456789012',
    '-var=access_policy=123456789',
    '-var=team=research@example.com',
    '-var=operators=["user:grace@example.com"]',
  ],
  'examples/hardened': [
    '-var=project_id=my-project',
    '-var=team=research@example.com',
    '-var=operator_email=operator@example.com',
    '-var=billing_account=012345-6789AB-CDEF01',
    `-var=kms_key_name=${KEY}`,
  ],
};

/** Required variables of the root module. */
const REQUIRED = ['-var=project_id=my-project', '-var=runtime_images={"2.11"={image="i"}}'];

/** Likely mistakes in variables, each with part of the expected error message. */
const REJECTED: readonly (readonly [string, string, RegExp])[] = [
  ['a project number instead of the id', 'project_id=123456789012', /6 to 30 lowercase letters/],
  ['a zone instead of a region', 'region=us-central1-a', /A region has the form us-central1/],
  ['no runtime image', 'runtime_images={}', /At least one runtime image is required/],
  ['a runtime without an image', 'runtime_images={"2.11"={}}', /requires machine_images, an image/],
  ['a replacement runtime that does not exist', 'runtime_images={"2.11"={runtime="2.20"}}', /must have its own image/],
  [
    'a processor by another name',
    'runtime_images={a={image="a",architecture="arm64"}}',
    /architecture is X86_64 or ARM64/,
  ],
  [
    'several runtimes without a default',
    'runtime_images={a={image="a"},b={image="b"}}',
    /Set the default runtime, one of runtime_images/,
  ],
  [
    'an address instead of the name of a secret',
    'notifications={team={kind="slack",secret="https://hooks.slack.com/services/T/B/x"}}',
    /Never put an address or a key here/,
  ],
  ['a webhook without a key', 'notifications={a={kind="webhook",secret="s"}}', /A webhook requires signing_secret/],
  ['a registry with a scheme', 'registries={"https://ghcr.io"={secret="a"}}', /as names of images have them/],
  ['a password of a registry', 'registries={"ghcr.io"={secret="user:password"}}', /Never put a password here/],
  [
    'an address instead of a repository',
    'image_repositories=["us-docker.pkg.dev/lab/a"]',
    /List at most 100 full names/,
  ],
  [
    'an address instead of an upstream',
    'remote_repositories={a="https://ghcr.io"}',
    /to hosts as names of images have them/,
  ],
  [
    'two repositories of one registry',
    'remote_repositories={a="ghcr.io",b="ghcr.io"}',
    /One repository for each registry/,
  ],
  [
    'a way out of a region without a subnet',
    'network={existing={subnetwork_pattern="projects/h/regions/{region}/subnetworks/n",regions=["us-central1"],internet_regions=["us-east1"]}}',
    /internet_regions are those of regions/,
  ],
  [
    'a key in another location than buckets and database',
    `encryption={kms_key_name="${KEY}"}`,
    /The key must be in the location of buckets, topics and secrets, us-central1/,
  ],
  ['a public API', 'api_access={members=["allUsers"]}', /list users, groups or service accounts/],
  ['followers of earlier versions', 'update_followers=["group:a@example.com"]', /the CLI polls the API/],
  ['a public page', 'page_access={members=["allAuthenticatedUsers"]}', /list users, groups or domains/],
  ['an audience of an earlier version', 'iap_audience="/projects/1"', /page_access deploys the page/],
  ['public submitters', 'submitters=["allAuthenticatedUsers"]', /run programs at your expense/],
  [
    'a region of jobs without a subnet',
    'network={subnets={europe-west4="10.0.0.0/20"}}',
    /region or zone of jobs has no subnet/,
  ],
  ['a zone of jobs without a subnet', 'jobs={zones=["europe-west4-a"]}', /region or zone of jobs has no subnet/],
  [
    'a subnet pattern that is a network',
    'network={existing={subnetwork_pattern="projects/h/global/networks/n",regions=["us-central1"]}}',
    /existing requires regions, and a pattern/,
  ],
  [
    'one subnet for many regions',
    'network={existing={subnetwork_pattern="projects/h/regions/us-east1/subnetworks/n",regions=["us-central1"]}}',
    /list only the region that the pattern contains/,
  ],
  ['an invalid CIDR range', 'network={subnets={us-central1="10.0.0.0"}}', /maps a region to a CIDR range/],
  [
    'a default account for jobs',
    'job_accounts=["1-compute@developer.gserviceaccount.com"]',
    /user-managed service accounts/,
  ],
  [
    "one of the deployment's accounts for jobs",
    'job_accounts=["dropforge-provision@my-project.iam.gserviceaccount.com"]',
    /rights that no program may have/,
  ],
  [
    'a secret for an account that is not listed',
    'job_account_secrets={"a@p.iam.gserviceaccount.com"=[]}',
    /not one of job_accounts/,
  ],
  ['a network without its project', 'job_networks={vpc={}}', /Use the full name of a network/],
  [
    'a subnetwork of another region',
    'job_networks={"projects/p/global/networks/n"={subnetworks={us-central1="projects/p/regions/us-east1/subnetworks/s"}}}',
    /maps a region to a subnetwork in it/,
  ],
  [
    'a network attachment without its project',
    'job_networks={"projects/p/global/networks/n"={network_attachments=["a"]}}',
    /full names of network attachments/,
  ],
  ['a version of a key', `job_keys=["${KEY}/cryptoKeyVersions/1"]`, /without a version/],
  ['an invalid secret name', 'secrets=["hf token"]', /A secret name has 1 to 255 letters/],
  ['members with their own jobs only', 'only_own_jobs=true', /members of a deployment share all jobs\. Deploy once/],
  ['operators', 'operators=["user:grace@example.com"]', /every member of a deployment may do everything/],
  ['users with folders', 'upload_users=["user:ada@example.com"]', /list the members of one group in submitters/],
  ['missing function archives', 'functions_dir=/nowhere', /Run `npm run build` first/],
  ['an invalid cron schedule', 'schedule={watch="hourly"}', /A cron schedule has five fields/],
];

let terraform: TerraformCopy;

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
  });
  afterAll(() => terraform.close());
  describe('terraform/', describeConfigurations);
} else {
  leaveOut('terraform', 'configurations');
}

function describeConfigurations() {
  it('is formatted', async () => {
    expect(await terraform.must('.', ['fmt', '-check', '-recursive', '-diff'])).toBe('');
  });

  it.each(['.', ...MODULES])('%s is valid, and its tests pass', async (directory) => {
    await terraform.init(directory);
    expect(await terraform.must(directory, ['validate'])).toContain('The configuration is valid');
    expect(await terraform.must(directory, ['test'])).toMatch(/Success! [1-9]\d* passed, 0 failed/);
  });

  it.each(EXAMPLES)('%s is valid, and deploys every function but notify, which needs channels', async (directory) => {
    const resources = await plan(terraform, directory, EXAMPLE_VARIABLES[directory] ?? []);
    expect(await terraform.must(directory, ['validate'])).toContain('The configuration is valid');
    const functions = resources.filter(({ type }) => type === 'google_cloudfunctions2_function');
    const expected = FUNCTION_NAMES.filter((name) => name !== 'notify');
    expect(functions.map(({ key }) => key).sort()).toEqual(expected.toSorted());
  });

  it('encrypts all data stores with the key of examples/hardened', async () => {
    const resources = await plan(terraform, 'examples/hardened', EXAMPLE_VARIABLES['examples/hardened'] ?? []);
    const stores = resources.filter(({ type }) =>
      [
        'google_storage_bucket',
        'google_pubsub_topic',
        'google_firestore_database',
        'google_secret_manager_secret',
        'google_logging_project_bucket_config',
      ].includes(type),
    );
    expect(stores.length).toBe(4 + 10 + 1 + 1 + 1);
    expect(stores.filter(({ values }) => !JSON.stringify(values).includes(KEY))).toEqual([]);
    const agents = resources.filter(({ type }) => type === 'google_kms_crypto_key_iam_member');
    expect(agents).toHaveLength(9);
    const provision = resources.find(
      ({ type, key }) => type === 'google_cloudfunctions2_function' && key === 'provision',
    );
    expect(provision).toMatchObject({
      values: { service_config: [{ environment_variables: { DISK_KMS_KEY: KEY, SECURE_BOOT: 'true' } }] },
    });
    expect(JSON.stringify(provision)).not.toContain('dropforge-2-11-a');
    for (const name of ['on-upload', 'on-submit', 'on-dead-letter', 'api']) {
      const intake = resources.find(({ type, key }) => type === 'google_cloudfunctions2_function' && key === name);
      expect(JSON.stringify(intake), name).toContain(`"DISK_KMS_KEY":"${KEY}"`);
    }
  });

  it('accepts a key that the same configuration creates', async () => {
    terraform.add('examples/created-key', createdKey(KEY));
    const resources = await plan(terraform, 'examples/created-key', []);
    expect(resources.filter(({ type }) => type === 'google_kms_crypto_key_iam_member')).toHaveLength(8);
  });

  it('has no page for browsers and no links to one without page_access or page_url', async () => {
    const resources = await plan(terraform, '.', REQUIRED);
    expect(
      resources.filter(({ type }) => /^google_(cloud_run_service|iap_)/.test(type) && !/_iam_/.test(type)),
    ).toEqual([]);
    expect(JSON.stringify(resources)).not.toMatch(/PAGE_URL|IAP_AUDIENCE|on_deploy_update_policy":\[\{/);
  });

  it('enables Secret Manager only for secrets, and outputs the commands that set their values', async () => {
    const servicesOf = async (...args: readonly string[]) => {
      const resources = await plan(terraform, '.', [...REQUIRED, ...args]);
      return resources.filter(({ type }) => type === 'google_project_service').map(({ key }) => key);
    };
    expect(await servicesOf()).not.toContain('secretmanager.googleapis.com');
    expect(await servicesOf('-var=secrets=["hf-token"]')).toContain('secretmanager.googleapis.com');
    const shown = await terraform.must('.', ['show', 'plan.bin']);
    expect(shown).toContain('gcloud secrets versions add hf-token --project=my-project --data-file=-');
  });

  it('creates a function, a subscription, an account and secrets for notification channels, and nothing without them', async () => {
    const planned = async (...args: readonly string[]) => {
      const resources = await plan(terraform, '.', [...REQUIRED, ...args]);
      return resources.flatMap(({ type, key }) =>
        /^(notify|slack|dropforge-notify)/.test(String(key)) ? [`${type} ${key}`] : [],
      );
    };
    expect(await planned()).toEqual([]);
    expect(await planned('-var=notifications={team={kind="slack",secret="slack-team"}}')).toEqual(
      expect.arrayContaining([
        'google_cloudfunctions2_function notify',
        'google_pubsub_subscription notify-team',
        'google_secret_manager_secret slack-team',
        'google_service_account notify',
      ]),
    );
    const shown = await terraform.must('.', ['show', 'plan.bin']);
    expect(shown).toContain('gcloud secrets versions add slack-team --project=my-project --data-file=-');
  });

  it('uses existing subnets without creating a network', async () => {
    const existing = '{subnetwork_pattern="projects/host/regions/{region}/subnetworks/gpu",regions=["us-central1"]}';
    const resources = await plan(terraform, '.', [...REQUIRED, `-var=network={existing=${existing}}`]);
    expect(resources.filter(({ type }) => type.startsWith('google_compute_'))).toEqual([]);
    const functionOf = (name: string) =>
      resources.find(({ type, key }) => type === 'google_cloudfunctions2_function' && key === name);
    expect(JSON.stringify(functionOf('provision'))).toContain('projects/host/regions/{region}/subnetworks/gpu');
    expect(JSON.stringify(functionOf('on-upload'))).toContain('"ZONES":"us-central1"');
  });

  it('encloses the deployment of examples/perimeter, with ingress for the team, those who apply it, and builds, and no egress', async () => {
    const at = 'examples/perimeter';
    const perimeterOf = async (...args: readonly string[]) => {
      const resources = await plan(terraform, at, [...(EXAMPLE_VARIABLES[at] ?? []), ...args]);
      const found = resources.find(({ type }) => type === 'google_access_context_manager_service_perimeter');
      const [status] = Object(found?.values.status) as readonly Readonly<Record<string, unknown>>[];
      return { name: found?.values.name, status };
    };
    const { name, status } = await perimeterOf();
    expect(name).toBe('accessPolicies/123456789/servicePerimeters/dropforge');
    expect(status).toMatchObject({
      resources: ['projects/123456789012'],
      ingress_policies: [{ title: 'build' }, { title: 'operators' }, { title: 'team' }, { title: 'uptime' }],
      egress_policies: [],
    });
    const [, operators] = Object(status).ingress_policies as readonly {
      readonly ingress_from: readonly [{ readonly identities: readonly string[] }];
      readonly ingress_to: readonly [{ readonly operations: readonly { readonly service_name: string }[] }];
    }[];
    expect(operators?.ingress_from[0].identities).toEqual(['user:grace@example.com']);
    // Terraform reads and changes something of each.
    expect(operators?.ingress_to[0].operations.map((one) => one.service_name).sort()).toEqual(
      (Object(status).restricted_services as readonly string[]).toSorted(),
    );
    const restricted = ['storage', 'secretmanager', 'compute', 'artifactregistry', 'run', 'firestore', 'pubsub'];
    expect(status?.restricted_services).toEqual(
      expect.arrayContaining(restricted.map((service) => `${service}.googleapis.com`)),
    );
    const withData = await perimeterOf('-var=data_projects=["42"]');
    expect(withData.status).toMatchObject({
      egress_policies: [{ egress_to: [{ resources: ['projects/42'] }] }],
    });
  });

  it('lets the VMs of every account out of the perimeter for what they need, and the keys be used', async () => {
    const at = 'examples/perimeter';
    const trainer = 'trainer@my-project.iam.gserviceaccount.com';
    const resources = await apply(terraform, at, [
      ...(EXAMPLE_VARIABLES[at] ?? []),
      `-var=job_accounts=["${trainer}"]`,
      ...['data_projects=["1"]', 'image_projects=["2"]', 'key_projects=["3"]', 'network_projects=["4"]'].map(
        (variable) => `-var=${variable}`,
      ),
    ]);
    const found = resources.find(({ type }) => type === 'google_access_context_manager_service_perimeter');
    const [{ resources: inside, egress_policies: egress }] = Object(found).values.status as readonly [
      Readonly<Record<'resources' | 'egress_policies', readonly Readonly<Record<string, unknown>>[]>>,
    ];
    expect(inside).toEqual(['projects/123456789012', 'projects/4']);
    const own = ['vm', 'on-upload', 'on-submit', 'api'].map(
      (name) => `dropforge-${name}@my-project.iam.gserviceaccount.com`,
    );
    const from = [...own, trainer].map((email) => `serviceAccount:${email}`).toSorted();
    const agent = 'serviceAccount:service-123456789012@compute-system.iam.gserviceaccount.com';
    expect(egress.map(({ title, egress_from, egress_to }) => summaryOf(title, egress_from, egress_to))).toEqual([
      { title: 'images', from, to: ['projects/2'], service: 'artifactregistry.googleapis.com' },
      { title: 'keys', from: [agent], to: ['projects/3'], service: 'cloudkms.googleapis.com' },
      { title: 'training-data', from, to: ['projects/1'], service: 'storage.googleapis.com' },
    ]);
    const grants = resources.filter(({ type }) => type === 'google_service_account_iam_member');
    expect(JSON.stringify(grants)).toContain(trainer);
  });

  it.each(REJECTED)('rejects %s with a remedy', async (_, variable, remedy) => {
    const together = await errorsOf(groups.find((group) => group.variables.includes(variable))?.variables ?? []);
    // An invalid variable can keep Terraform from the checks that follow.
    expect(remedy.test(together) ? together : await errorsOf([variable])).toMatch(remedy);
  });

  /** Mistakes in different variables, and with different messages: Terraform reports all of them in one plan. */
  const groups: { readonly variables: string[]; readonly keys: Set<string> }[] = [];
  for (const [, variable, remedy] of REJECTED) {
    const keys = [variable.replace(/=.*/s, ''), remedy.source];
    const group = groups.find((one) => !keys.some((key) => one.keys.has(key)));
    group?.variables.push(variable);
    keys.forEach((key) => void group?.keys.add(key));
    if (group === undefined) {
      groups.push({ variables: [variable], keys: new Set(keys) });
    }
  }

  const plans = new Map<string, Promise<string>>();

  function errorsOf(variables: readonly string[]): Promise<string> {
    const key = variables.join('\n');
    const planned = plans.get(key) ?? planErrors(variables);
    plans.set(key, planned);
    return planned;
  }

  async function planErrors(variables: readonly string[]): Promise<string> {
    await terraform.init('.');
    const set = variables.map((variable) => `-var=${variable}`);
    const { status, output } = await terraform.run('.', ['plan', '-input=false', ...REQUIRED, ...set]);
    expect(status).toBe(1);
    return output.slice(output.indexOf('\nError: ')).replaceAll(/\s+/g, ' ');
  }

  it('uses only the Google provider, with the same version range everywhere', async () => {
    expect(new Set([...MODULES, ...EXAMPLES].map(readVersions))).toEqual(new Set([readVersions('.')]));
    expect(readVersions('.').match(/source\s+= "/g)).toHaveLength(1);
  });
}

function summaryOf(title: unknown, from: unknown, to: unknown) {
  const [{ identities }] = from as readonly [{ readonly identities: readonly string[] }];
  const [{ resources, operations }] = to as readonly [
    { readonly resources: readonly string[]; readonly operations: readonly { readonly service_name: string }[] },
  ];
  return { title, from: identities.toSorted(), to: resources, service: operations[0]?.service_name };
}

/** A configuration whose key name is known only after apply. */
function createdKey(name: string): string {
  return `
resource "terraform_data" "key" {
  input = "${name}"
}
module "dropforge" {
  source         = "../.."
  project_id     = "my-project"
  runtime_images = { "2.11" = { image = "dropforge-2-11" } }
  encryption     = { kms_key_name = terraform_data.key.output }
}
`;
}

function readVersions(directory: string): string {
  return readFileSync(fileURLToPath(new URL(`${directory}/versions.tf`, ROOT)), 'utf8');
}
