import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDeployment } from '#cli/cloud/deployment.ts';
import { HTTP_FUNCTIONS, SUBSCRIPTIONS } from '#functions/index.ts';
import { ENDPOINT_SETTINGS, readSettings, SETTINGS_OF } from '#functions/settings.ts';
import { vmPlaceSchema } from '#infra/google-cloud/compute/instance-request.ts';
import { MANAGED_BY } from '#infra/google-cloud/compute/vm-labels.ts';
import {
  COMPOSITE_INDEXES,
  EXPIRING_COLLECTIONS,
  EXPIRY_FIELD,
  UNINDEXED_FIELDS,
} from '#infra/google-cloud/firestore/collections.ts';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { TOPICS } from '#shared/ports/message-bus.ts';
import { teardownMessageSchema } from '#shared/protocol/stage-message.ts';
import { apply, type Resource } from './deployed-state.ts';
import { copyTerraform, FUNCTION_NAMES, hasTerraform, type TerraformCopy } from './terraform.ts';

const PROJECT = 'my-project';
const VARIABLES = [
  `-var=project_id=${PROJECT}`,
  '-var=runtime_images={"2.11"={machine_images=["m-a","m-b"],image="i",python_version="3.10"}}',
  '-var=jobs={zones=["us-central1-a","us-central1-b"]}',
];

const EVENT_FUNCTIONS = Object.entries(SUBSCRIPTIONS);

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

const all = (type: string) => resources.filter((resource) => resource.type === type);
const find = (type: string, key: string) => all(type).find((resource) => resource.key === key)?.values ?? {};
const functionOf = (name: string) => find('google_cloudfunctions2_function', name);
const configOf = (name: string) => Object(functionOf(name).service_config)[0] as Readonly<Record<string, unknown>>;
const environmentOf = (name: string) => configOf(name).environment_variables as Readonly<Record<string, string>>;
const topicOf = (topic: string) => find('google_pubsub_topic', topic);
const emailOf = (account: string) => find('google_service_account', account).email;
const memberOf = (account: string) => find('google_service_account', account).member;

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('what terraform apply makes', describeDeployment);
} else {
  describe('what terraform apply makes', () => {
    it('is not looked at: there is no terraform on this machine', () => {
      expect(hasTerraform()).toBe(false);
    });
  });
}

function describeDeployment() {
  it('needs nothing more on a second run', async () => {
    const { status, output } = await terraform.run('.', ['plan', '-input=false', '-detailed-exitcode', ...VARIABLES]);
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
      const forTests: readonly string[] = ENDPOINT_SETTINGS;
      const asked = SETTINGS_OF[name].filter((setting) => !forTests.includes(setting));
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

  describe('messages', () => {
    it('have the topics that the code publishes to', () => {
      const names = all('google_pubsub_topic').map(({ values }) => values.name);
      expect(names.sort()).toEqual(TOPICS.map((topic) => `${TOPIC_PREFIX}${topic}`).sort());
    });

    it('have one subscription for each function that hears them', () => {
      const heard = all('google_pubsub_subscription').map(({ key, values }) => [key, values.topic]);
      expect(heard.sort()).toEqual(EVENT_FUNCTIONS.map(([name, topic]) => [name, topicOf(topic).id]).sort());
    });

    it.each(EVENT_FUNCTIONS)('reach %s from %s, with a token, and for as long as it takes', (name, topic) => {
      const { uri, timeout_seconds: timeoutSeconds } = configOf(name);
      const subscription = find('google_pubsub_subscription', name);
      expect(subscription).toMatchObject({
        name: `${TOPIC_PREFIX}${topic}`,
        push_config: [
          {
            push_endpoint: `${uri}/${topicOf(topic).id}`,
            oidc_token: [{ service_account_email: emailOf('push'), audience: uri }],
          },
        ],
        expiration_policy: [{ ttl: '' }],
        retry_policy: [{ minimum_backoff: '10s', maximum_backoff: '600s' }],
      });
      expect(Number(subscription.ack_deadline_seconds)).toBeGreaterThan(Number(timeoutSeconds));
      expect(Number(subscription.ack_deadline_seconds)).toBeLessThanOrEqual(600);
    });

    it.each(EVENT_FUNCTIONS)('that %s cannot handle from %s become dead letters', (name, topic) => {
      const isLast = topic === 'dead-letters';
      const [policy] = Object(find('google_pubsub_subscription', name).dead_letter_policy) as readonly unknown[];
      const expected = { dead_letter_topic: topicOf('dead-letters').id, max_delivery_attempts: expect.any(Number) };
      expect(policy).toEqual(isLast ? undefined : expected);
      const agent = find('google_pubsub_subscription_iam_member', name);
      expect(agent.member).toBe(
        isLast ? undefined : 'serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com',
      );
    });

    it('come from finished uploads', () => {
      const [notification] = all('google_storage_notification');
      expect(notification?.values).toMatchObject({
        bucket: `${PROJECT}-dropforge-uploads`,
        topic: topicOf('uploads').id,
        event_types: ['OBJECT_FINALIZE'],
        payload_format: 'JSON_API_V1',
      });
    });

    it('come from the scheduler, in words that the stages know', () => {
      const targets = all('google_cloud_scheduler_job').map(({ values }) => {
        const [target] = values.pubsub_target as readonly { readonly topic_name: string; readonly data: string }[];
        return [target?.topic_name, JSON.parse(Buffer.from(target?.data ?? '', 'base64').toString())] as const;
      });
      const byTopic = new Map(targets);
      expect(byTopic.get(String(topicOf('tick').id))).toEqual({ type: 'TICK' });
      expect(teardownMessageSchema.parse(byTopic.get(String(topicOf('teardown').id)))).toEqual({ type: 'SWEEP' });
      expect(byTopic.size).toBe(2);
    });

    it('come from Compute Engine when it takes a VM of ours away', () => {
      const [sink] = all('google_logging_project_sink');
      const filter = String(sink?.values.filter);
      expect(sink?.values.destination).toBe(`pubsub.googleapis.com/${topicOf('interruptions').id}`);
      for (const method of ['preempted', 'hostError', 'terminateOnHostMaintenance', 'guestTerminate']) {
        expect(filter).toContain(`"compute.instances.${method}"`);
      }
      const prefix = /"\/instances\/([^"]+)"/.exec(filter)?.[1] ?? 'none';
      expect(vmNameOf('Job_1', 1, { role: 'master', index: 0 }).startsWith(prefix)).toBe(true);
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
    await writeFile(file, await terraform.must('.', ['output', '-json', 'deployment']));
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
