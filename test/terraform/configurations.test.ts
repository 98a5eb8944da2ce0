import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plan } from '../support/terraform/deployed-state.ts';
import { copyTerraform, FUNCTION_NAMES, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const ROOT = new URL('../../terraform/', import.meta.url);
const list = (folder: string) => readdirSync(new URL(folder, ROOT)).map((name) => `${folder}/${name}`);

const MODULES = list('modules');
const EXAMPLES = list('examples');

const KEY = 'projects/keys/locations/europe-west4/keyRings/r/cryptoKeys/k';
const EXAMPLE_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'examples/minimal': ['-var=project_id=my-project'],
  'examples/hardened': [
    '-var=project_id=my-project',
    '-var=team=research@example.com',
    '-var=operator_email=operator@example.com',
    '-var=billing_account=012345-6789AB-CDEF01',
    `-var=kms_key_name=${KEY}`,
  ],
};

/** What the root module must be told. */
const COMPLETE = ['-var=project_id=my-project', '-var=runtime_images={"2.11"={image="i"}}'];

/** Variables that somebody may well get wrong, and a word of what Terraform says then. */
const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['a project number for its id', 'project_id=123456789012', /6 to 30 small letters/],
  ['a zone for a region', 'region=us-central1-a', /A region looks like us-central1/],
  ['no image at all', 'runtime_images={}', /Without an image no job can run/],
  ['a runtime without an image', 'runtime_images={"2.11"={}}', /names machine_images, an image/],
  ['a runtime that stands in and is not there', 'runtime_images={"2.11"={runtime="2.20"}}', /with an image of its own/],
  ['many runtimes and none for jobs', 'runtime_images={a={image="a"},b={image="b"}}', /for jobs that name none/],
  ['an API for everybody', 'api_access={members=["allUsers"]}', /name users, groups or service accounts/],
  ['submitters who are everybody', 'submitters=["allAuthenticatedUsers"]', /runs programs at your expense/],
  ['jobs without a subnet', 'network={subnets={europe-west4="10.0.0.0/20"}}', /run in a region without a subnet/],
  ['zones without a subnet', 'jobs={zones=["europe-west4-a"]}', /run in a region without a subnet/],
  [
    'a pattern that is a network',
    'network={existing={subnetwork_pattern="projects/h/global/networks/n",regions=["us-central1"]}}',
    /existing names regions, and their subnets/,
  ],
  [
    'one subnet for many regions',
    'network={existing={subnetwork_pattern="projects/h/regions/us-east1/subnetworks/n",regions=["us-central1"]}}',
    /name the one region that it is in/,
  ],
  ['a range that is none', 'network={subnets={us-central1="10.0.0.0"}}', /maps a region to a range of addresses/],
  ['a secret that is no name', 'secrets=["hf token"]', /A secret is named with letters/],
  ['functions that were not built', 'functions_dir=/nowhere', /Run `npm run build` first/],
  ['a schedule that is no cron', 'schedule={watch="hourly"}', /A schedule has five fields/],
];

let terraform: TerraformCopy;

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
  });
  afterAll(() => terraform.close());
  describe('terraform/', describeConfigurations);
} else {
  describe('terraform/', () => {
    it('is not checked: there is no terraform on this machine', () => {
      expect(hasTerraform()).toBe(false);
    });
  });
}

function describeConfigurations() {
  it('is formatted', async () => {
    expect(await terraform.must('.', ['fmt', '-check', '-recursive', '-diff'])).toBe('');
  });

  it.each(['.', ...MODULES])('%s is valid by itself, and its own tests pass', async (directory) => {
    await terraform.must(directory, ['init', '-backend=false']);
    expect(await terraform.must(directory, ['validate'])).toContain('The configuration is valid');
    expect(await terraform.must(directory, ['test'])).toMatch(/Success! [1-9]\d* passed, 0 failed/);
  });

  it.each(EXAMPLES)('%s is valid, and deploys every function', async (directory) => {
    const resources = await plan(terraform, directory, EXAMPLE_VARIABLES[directory] ?? []);
    expect(await terraform.must(directory, ['validate'])).toContain('The configuration is valid');
    const functions = resources.filter(({ type }) => type === 'google_cloudfunctions2_function');
    expect(functions.map(({ key }) => key).sort()).toEqual(FUNCTION_NAMES);
  });

  it('encrypts whatever holds data with the key of examples/hardened', async () => {
    const resources = await plan(terraform, 'examples/hardened', EXAMPLE_VARIABLES['examples/hardened'] ?? []);
    const holding = resources.filter(({ type }) =>
      [
        'google_storage_bucket',
        'google_pubsub_topic',
        'google_firestore_database',
        'google_secret_manager_secret',
      ].includes(type),
    );
    expect(holding.length).toBe(3 + 9 + 1 + 1);
    expect(holding.filter(({ values }) => !JSON.stringify(values).includes(KEY))).toEqual([]);
    const agents = resources.filter(({ type }) => type === 'google_kms_crypto_key_iam_member');
    expect(agents).toHaveLength(5);
    const provision = resources.find(
      ({ type, key }) => type === 'google_cloudfunctions2_function' && key === 'provision',
    );
    expect(provision).toMatchObject({
      values: { service_config: [{ environment_variables: { DISK_KMS_KEY: KEY, SECURE_BOOT: 'true' } }] },
    });
    expect(JSON.stringify(provision)).not.toContain('dropforge-2-11-a');
  });

  it('can be given a key that the same configuration makes', async () => {
    terraform.add('examples/own-key', ownKey(KEY));
    const resources = await plan(terraform, 'examples/own-key', []);
    expect(resources.filter(({ type }) => type === 'google_kms_crypto_key_iam_member')).toHaveLength(4);
  });

  it('switches Secret Manager on for secrets alone, and says how each gets its value', async () => {
    const servicesOf = async (...more: readonly string[]) => {
      const resources = await plan(terraform, '.', [...COMPLETE, ...more]);
      return resources.filter(({ type }) => type === 'google_project_service').map(({ key }) => key);
    };
    expect(await servicesOf()).not.toContain('secretmanager.googleapis.com');
    expect(await servicesOf('-var=secrets=["hf-token"]')).toContain('secretmanager.googleapis.com');
    const shown = await terraform.must('.', ['show', 'plan.bin']);
    expect(shown).toContain('gcloud secrets versions add hf-token --project=my-project --data-file=-');
  });

  it('can put VMs into subnets that are there already, and makes no network then', async () => {
    const existing = '{subnetwork_pattern="projects/host/regions/{region}/subnetworks/gpu",regions=["us-central1"]}';
    const resources = await plan(terraform, '.', [...COMPLETE, `-var=network={existing=${existing}}`]);
    expect(resources.filter(({ type }) => type.startsWith('google_compute_'))).toEqual([]);
    const functionOf = (name: string) =>
      resources.find(({ type, key }) => type === 'google_cloudfunctions2_function' && key === name);
    expect(JSON.stringify(functionOf('provision'))).toContain('projects/host/regions/{region}/subnetworks/gpu');
    expect(JSON.stringify(functionOf('on-upload'))).toContain('"ZONES":"us-central1"');
  });

  it.each(REFUSED)('refuses %s with a remedy', async (_, variable, remedy) => {
    await terraform.must('.', ['init', '-backend=false']);
    const { status, output } = await terraform.run('.', ['plan', '-input=false', ...COMPLETE, `-var=${variable}`]);
    expect(status).toBe(1);
    const error = output.slice(output.indexOf('\nError: '));
    expect(error.replaceAll(/\s+/g, ' ')).toMatch(remedy);
  });

  it('uses the Google provider and no other, in the same versions everywhere', async () => {
    expect(new Set([...MODULES, ...EXAMPLES].map(readVersions))).toEqual(new Set([readVersions('.')]));
    expect(readVersions('.').match(/source\s+= "/g)).toHaveLength(1);
  });
}

/** A key that Terraform does not know before it is made. */
function ownKey(name: string): string {
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
