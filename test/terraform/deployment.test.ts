import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDeployment } from '#cli/client/deployment.ts';
import { HTTP_FUNCTIONS, SUBSCRIPTIONS } from '#functions/index.ts';
import { ENDPOINT_SETTINGS, readSettings, SETTINGS_OF } from '#functions/settings.ts';
import { vmPlaceSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { MANAGED_BY } from '#infra/google-cloud/compute-engine/vm-labels.ts';
import {
  COMPOSITE_INDEXES,
  EXPIRING_COLLECTIONS,
  EXPIRY_FIELD,
  UNINDEXED_FIELDS,
} from '#infra/google-cloud/firestore/collections.ts';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { type AppliedRoot, describeAppliedRoot, PROJECT, VARIABLES } from '../support/terraform/applied-root.ts';
import { FUNCTION_NAMES } from '../support/terraform/terraform.ts';

describeAppliedRoot(describeDeployment);

function describeDeployment({
  terraform,
  all,
  find,
  functionOf,
  configOf,
  environmentOf,
  emailOf,
  memberOf,
}: AppliedRoot) {
  it('needs nothing more on a second run', async () => {
    const { status, output } = await terraform().run('.', ['plan', '-input=false', '-detailed-exitcode', ...VARIABLES]);
    expect(`${status} ${output}`).toMatch(/^0 /);
  });

  describe('functions', () => {
    it('are those of functions/index.ts, each built from its own archive, on Node 24', () => {
      const deployed = all('google_cloudfunctions2_function').map(({ key }) => key);
      expect(deployed.sort()).toEqual(FUNCTION_NAMES);
    });

    it.each(FUNCTION_NAMES)('%s runs its entry point as its own account', (name) => {
      expect(functionOf(name)).toMatchObject({
        name: `${TOPIC_PREFIX}${name}`,
        build_config: [
          {
            entry_point: name,
            runtime: 'nodejs24',
            source: [{ storage_source: [{ object: expect.stringMatching(`^${name}/[0-9a-f]{64}\\.zip$`) }] }],
          },
        ],
        service_config: [{ service_account_email: emailOf(name), min_instance_count: 0 }],
      });
    });

    it.each(FUNCTION_NAMES)('%s has exactly the settings that it asks for', (name) => {
      // Whose key a deployment has none of has Google's: examples/hardened sets it.
      const left: readonly string[] = [...ENDPOINT_SETTINGS, 'DISK_KMS_KEY'];
      const asked = SETTINGS_OF[name].filter((setting) => !left.includes(setting));
      expect(Object.keys(environmentOf(name)).sort()).toEqual([...asked].sort());
      expect(readSettings(name, environmentOf(name))).not.toHaveProperty('problem');
    });

    it.each(FUNCTION_NAMES)('%s has the memory that it needs, and no more', (name) => {
      const isOnCompute = name === 'provision' || name === 'teardown';
      expect(configOf(name).available_memory).toBe(isOnCompute ? '512Mi' : '256Mi');
    });

    it.each(FUNCTION_NAMES)('%s answers those alone who should call it', (name) => {
      const isPublic = name === 'api';
      expect(configOf(name).ingress_settings).toBe(isPublic ? 'ALLOW_ALL' : 'ALLOW_INTERNAL_ONLY');
      const callers = name in SUBSCRIPTIONS ? [memberOf('push')] : name === 'heartbeat' ? [memberOf('vm')] : undefined;
      expect(find('google_cloud_run_service_iam_binding', name).members).toEqual(callers);
    });

    it('take settings in the form in which the code reads them', () => {
      const provision = environmentOf('provision');
      const place = {
        projectId: provision.PROJECT_ID,
        subnetwork: provision.SUBNETWORK,
        serviceAccount: provision.VM_SERVICE_ACCOUNT,
      };
      expect(vmPlaceSchema.parse(place)).toMatchObject({ ...place, networkTag: 'dropforge-vm' });
      expect(JSON.parse(provision.RUNTIME_IMAGES ?? '')).toEqual({
        '2.11': { machineImages: ['m-a', 'm-b'], image: 'i', pythonVersion: '3.10' },
      });
      expect(provision.VM_SERVICE_ACCOUNT).toBe(emailOf('vm'));
      expect(provision.HEARTBEAT_URL).toMatch(/^https:\/\/dropforge-heartbeat-\d+\.us-central1\.run\.app$/);
      expect(environmentOf('heartbeat').HEARTBEAT_AUDIENCE).toBe(provision.HEARTBEAT_AUDIENCE);
      expect(environmentOf('on-upload')).toMatchObject({
        REGION_DEFAULT: 'us-central1',
        RUNTIME_VERSION_DEFAULT: '2.11',
        ZONES: 'us-central1-a,us-central1-b',
        UPLOAD_BUCKET: `${PROJECT}-dropforge-uploads`,
        JOBS_BUCKET: `${PROJECT}-dropforge-jobs`,
      });
    });
  });

  describe('the database', () => {
    it('has the composite indexes that queries need', () => {
      const indexes = all('google_firestore_index').map(({ values }) => ({
        collection: values.collection,
        fields: (values.fields as readonly Readonly<Record<string, string>>[]).map((f) => [f.field_path, f.order]),
      }));
      expect(indexes).toHaveLength(COMPOSITE_INDEXES.length);
      expect(indexes).toEqual(expect.arrayContaining([...COMPOSITE_INDEXES]));
    });

    it('leaves unindexed what is never asked for, and forgets what has expired', () => {
      const fields = all('google_firestore_field').map(({ values }) => ({
        place: `${values.collection}.${values.field}`,
        isIndexed: JSON.stringify(values.index_config) !== '[{"indexes":[]}]',
        expires: Object(values.ttl_config).length === 1,
      }));
      const exempted = UNINDEXED_FIELDS.map(({ collection, field }) => ({
        place: `${collection}.${field}`,
        expires: false,
      }));
      const expiring = EXPIRING_COLLECTIONS.map((name) => ({ place: `${name}.${EXPIRY_FIELD}`, expires: true }));
      const expected = [...exempted, ...expiring].map((field) => ({ ...field, isIndexed: false }));
      expect(fields).toHaveLength(expected.length);
      expect(fields).toEqual(expect.arrayContaining(expected));
    });

    it('is its own, and is not deleted by mistake', () => {
      const [database] = all('google_firestore_database');
      expect(database?.values).toMatchObject({
        name: 'dropforge',
        delete_protection_state: 'DELETE_PROTECTION_ENABLED',
      });
    });
  });

  describe('VMs', () => {
    it('bear the tag that the firewall knows, and are reached by nobody but each other', () => {
      const allowing = all('google_compute_firewall').filter(({ values }) => Object(values.allow).length > 0);
      const tag = vmPlaceSchema.shape.networkTag.parse(undefined);
      expect(allowing.map(({ values }) => [values.source_tags, values.target_tags, values.source_ranges])).toEqual([
        [[tag], [tag], []],
      ]);
    });

    it('are found by the label that they bear when they are too old', () => {
      const policy = JSON.stringify(find('google_monitoring_alert_policy', 'old-vm'));
      expect(policy).toContain(
        JSON.stringify(`metadata.user_labels."${MANAGED_BY.key}"="${MANAGED_BY.value}"`).slice(1, -1),
      );
    });

    it('reach Google’s services without a way to the internet, which would cost money while nothing runs', () => {
      expect(all('google_compute_subnetwork').every(({ values }) => values.private_ip_google_access === true)).toBe(
        true,
      );
      expect(all('google_compute_router_nat')).toEqual([]);
      const pattern = environmentOf('provision').SUBNETWORK ?? '';
      expect(pattern).toBe(`projects/${PROJECT}/regions/{region}/subnetworks/dropforge`);
    });
  });

  it('tells the CLI of itself, in the form in which it reads that', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'dropforge-output-')), 'deployment.json');
    await writeFile(file, await terraform().must('.', ['output', '-json', 'deployment']));
    expect(await readDeployment(file)).toEqual({
      projectId: PROJECT,
      api: Object(functionOf('api').service_config)[0].uri,
      uploadBucket: environmentOf('on-upload').UPLOAD_BUCKET,
      jobsBucket: environmentOf('on-upload').JOBS_BUCKET,
    });
    await rm(dirname(file), { recursive: true });
  });

  it('has functions without a subscription for heartbeats and the API, and no other', () => {
    const hearing = all('google_pubsub_subscription').map(({ key }) => key);
    const deaf = all('google_cloudfunctions2_function').flatMap(({ key }) => (hearing.includes(key) ? [] : [key]));
    expect(deaf.sort()).toEqual([...HTTP_FUNCTIONS].sort());
  });
}
