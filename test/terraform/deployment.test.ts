import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDeployment } from '#cli/client/deployment.ts';
import { FUNCTION_NAMES, FUNCTIONS, HTTP_FUNCTION_NAMES, isEventFunction } from '#functions/functions.ts';
import { readSettings } from '#functions/read-settings.ts';
import { ENDPOINT_SETTINGS, type SettingName } from '#functions/settings.ts';
import { vmDefaultsSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import {
  COMPOSITE_INDEXES,
  EXPIRING_COLLECTIONS,
  EXPIRY_FIELD,
  UNINDEXED_FIELDS,
} from '#infra/google-cloud/firestore/collections.ts';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { COMMIT_TRIES_MAX } from '#shared/machine/machine.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { MANAGED_BY } from '#shared/protocol/vm-labels.ts';
import { type AppliedRoot, describeAppliedRoot, PROJECT, VARIABLES } from '../support/terraform/applied-root.ts';

const PAGE_URL = 'https://dropforge-page-123456789012.us-central1.run.app';

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
  it('has an empty plan after apply', async () => {
    const { status, output } = await terraform().run('.', ['plan', '-input=false', '-detailed-exitcode', ...VARIABLES]);
    expect(`${status} ${output}`).toMatch(/^0 /);
  });

  describe('functions', () => {
    it('are those of functions/functions.ts', () => {
      const deployed = all('google_cloudfunctions2_function').map(({ key }) => key);
      expect(deployed.sort()).toEqual(FUNCTION_NAMES.toSorted());
    });

    it.each(FUNCTION_NAMES)(
      '%s is built from its own archive for Node 24, and runs its entry point as its own account',
      (name) => {
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
      },
    );

    it.each(FUNCTION_NAMES)('%s has exactly the settings that it declares', (name) => {
      // Only deployments with a customer-managed key, with rights of jobs, with logins to registries or without root in
      // containers set these; the audience of Identity-Aware Proxy is a setting of the page alone.
      const containers = ['REGISTRIES', 'CONTAINERS_AS_ROOT'];
      const optional: readonly string[] = [
        ...ENDPOINT_SETTINGS,
        'DISK_KMS_KEY',
        'JOB_RIGHTS',
        'DATA_BUCKETS',
        'IAP_AUDIENCE',
        ...containers,
      ];
      const declared = (FUNCTIONS[name].settings as readonly SettingName[]).filter(
        (setting) => !optional.includes(setting),
      );
      // LOG_EXECUTION_ID is the functions-framework's.
      expect(Object.keys(environmentOf(name)).sort()).toEqual([...declared, 'LOG_EXECUTION_ID'].sort());
      const { RELEASE: release, LOG_EXECUTION_ID: hasExecutionId } = environmentOf(name);
      expect(JSON.stringify(functionOf(name))).toContain(`${name}/${release}.zip`);
      expect(hasExecutionId).toBe('true');
      expect(readSettings(name, environmentOf(name))).not.toHaveProperty('problem');
    });

    it.each(FUNCTION_NAMES)('%s has the memory that its client libraries and computations need', (name) => {
      const memory: Readonly<Record<string, string>> = {
        ...{ provision: '512Mi', teardown: '512Mi', tuning: '1024Mi' },
        // A zip of 10 GiB takes 210 MiB besides the client libraries (npm run bench -- archive).
        ...{ 'on-upload': '512Mi', 'on-submit': '512Mi' },
        // Several parts of uploads at once, and the cache of metrics.
        api: '1024Mi',
      };
      expect(configOf(name).available_memory).toBe(memory[name] ?? '256Mi');
    });

    it.each(['on-upload', 'on-submit', 'api'])('%s has the time and CPU to inspect the largest package', (name) => {
      const { available_cpu, timeout_seconds } = configOf(name);
      const seconds = PACKAGE_LIMITS.inspectionMsMax / 1_000;
      // Sixty seconds are left for the start and for all else that intake does.
      expect(Number(timeout_seconds)).toBeGreaterThanOrEqual(seconds + 60);
      expect(Number(available_cpu) * seconds).toBeGreaterThanOrEqual(PACKAGE_LIMITS.inspectionCpuSecondsMax);
    });

    it('handle no more messages of tunings at once than one commit has tries', () => {
      const { max_instance_count, max_instance_request_concurrency } = configOf('tuning');
      expect(Number(max_instance_count) * Number(max_instance_request_concurrency)).toBeLessThanOrEqual(
        COMMIT_TRIES_MAX,
      );
    });

    it.each(FUNCTION_NAMES)('%s can be called only by its invokers', (name) => {
      const hasPublicIngress = name === 'api';
      expect(configOf(name).ingress_settings).toBe(hasPublicIngress ? 'ALLOW_ALL' : 'ALLOW_INTERNAL_ONLY');
      // Google's agent calls the page of api for the uptime check.
      const monitoring = 'serviceAccount:service-123456789012@gcp-sa-monitoring-notification.iam.gserviceaccount.com';
      const members = { heartbeat: [memberOf('vm')], api: ['group:cli@example.com', monitoring] };
      const callers = isEventFunction(name) ? [memberOf('push')] : members[name as keyof typeof members];
      expect(find('google_cloud_run_service_iam_binding', name).members).toEqual(callers);
    });

    it('get settings in the format that the code parses', () => {
      const provision = environmentOf('provision');
      const place = {
        projectId: provision.PROJECT_ID,
        subnetwork: provision.SUBNETWORK,
        serviceAccount: provision.VM_SERVICE_ACCOUNT,
      };
      expect(vmDefaultsSchema.parse(place)).toMatchObject({ ...place, networkTag: 'dropforge-vm' });
      expect(JSON.parse(provision.RUNTIME_IMAGES ?? '')).toEqual({
        '2.11': { machineImages: ['m-a', 'm-b'], image: 'i', pythonVersion: '3.10', gpus: ['nvidia-l4'] },
        arm: { machineImages: [], image: 'a', architecture: 'ARM64' },
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

  describe('the page', () => {
    const page = () => all('google_cloud_run_service')[0]?.values ?? {};
    const first = (value: unknown) => Object(value)[0] as Readonly<Record<string, unknown>>;
    const spec = () => first(first(page().template).spec);
    const container = () => first(spec().containers);
    const settings = () =>
      Object.fromEntries(
        (container().env as readonly { readonly name: string; readonly value: string }[]).map((env) => [
          env.name,
          env.value,
        ]),
      );

    it('is a service of its own behind Identity-Aware Proxy, which alone may call it; the API is called by its members', () => {
      expect(page().name).toBe('dropforge-page');
      expect(first(page().metadata).annotations).toMatchObject({ 'run.googleapis.com/iap-enabled': 'true' });
      const [invokers] = all('google_cloud_run_service_iam_binding').filter(({ name }) => name === 'page');
      expect(invokers?.values).toMatchObject({
        service: 'dropforge-page',
        role: 'roles/run.invoker',
        members: ['serviceAccount:service-123456789012@gcp-sa-iap.iam.gserviceaccount.com'],
      });
      expect(all('google_iap_web_cloud_run_service_iam_binding').map(({ values }) => values)).toMatchObject([
        {
          cloud_run_service_name: 'dropforge-page',
          role: 'roles/iap.httpsResourceAccessor',
          members: ['group:team@example.com'],
        },
      ]);
      const services = all('google_project_service').map(({ values }) => values.service);
      expect(services).toContain('iap.googleapis.com');
    });

    it('runs the image of api as its account, with its settings and the audience that IAP signs for', () => {
      expect(container().image).toBe('google_cloud_run_v2_service/dropforge-api/template/containers/image');
      expect(functionOf('api').build_config).toMatchObject([{ on_deploy_update_policy: [{}] }]);
      expect(spec().service_account_name).toBe(emailOf('api'));
      const { IAP_AUDIENCE: audience, ...others } = settings();
      expect(others).toEqual(environmentOf('api'));
      expect(audience).toBe('/projects/123456789012/locations/us-central1/services/dropforge-page');
      expect(readSettings('api', settings())).not.toHaveProperty('problem');
      const { available_memory: memory, max_instance_request_concurrency: concurrency } = configOf('api');
      expect(container().resources).toMatchObject([{ limits: { cpu: '1', memory } }]);
      expect(spec().container_concurrency).toBe(concurrency);
    });

    it('has a new revision whenever the archive of api changes, whatever the tag of its image', () => {
      const [source] = all('google_storage_bucket_object').filter(({ key }) => key === 'api');
      const annotations = first(first(page().template).metadata).annotations;
      expect(annotations).toMatchObject({ 'dropforge/source': source?.values.name });
    });

    it('is where links in messages lead', () => {
      expect(environmentOf('notify').PAGE_URL).toBe(PAGE_URL);
    });
  });

  describe('the database', () => {
    it('has the composite indexes that queries require', () => {
      const indexes = all('google_firestore_index').map(({ values }) => ({
        collection: values.collection,
        fields: (values.fields as readonly Readonly<Record<string, string>>[]).map((f) => [f.field_path, f.order]),
      }));
      const required = COMPOSITE_INDEXES.map(({ collection, fields }) => ({
        collection,
        fields: Object.entries(fields),
      }));
      expect(indexes).toHaveLength(required.length);
      expect(indexes).toEqual(expect.arrayContaining(required));
    });

    it('has no indexes on unqueried fields, and a TTL on expiring collections', () => {
      const fields = all('google_firestore_field').map(({ values }) => ({
        path: `${values.collection}.${values.field}`,
        isIndexed: JSON.stringify(values.index_config) !== '[{"indexes":[]}]',
        expires: Object(values.ttl_config).length === 1,
      }));
      const exempted = UNINDEXED_FIELDS.map(({ collection, field }) => ({
        path: `${collection}.${field}`,
        expires: false,
      }));
      const expiring = EXPIRING_COLLECTIONS.map((name) => ({ path: `${name}.${EXPIRY_FIELD}`, expires: true }));
      const expected = [...exempted, ...expiring].map((field) => ({ ...field, isIndexed: false }));
      expect(fields).toHaveLength(expected.length);
      expect(fields).toEqual(expect.arrayContaining(expected));
    });

    it('is a dedicated database with delete protection', () => {
      const [database] = all('google_firestore_database');
      expect(database?.values).toMatchObject({
        name: 'dropforge',
        delete_protection_state: 'DELETE_PROTECTION_ENABLED',
      });
    });
  });

  describe('VMs', () => {
    it('have the tag of the firewall rule, and accept traffic only from each other', () => {
      const allowing = all('google_compute_firewall').filter(({ values }) => Object(values.allow).length > 0);
      const tag = vmDefaultsSchema.shape.networkTag.parse(undefined);
      expect(allowing.map(({ values }) => [values.source_tags, values.target_tags, values.source_ranges])).toEqual([
        [[tag], [tag], []],
      ]);
    });

    it('have the label by which the alert on old VMs selects them', () => {
      const policy = JSON.stringify(find('google_monitoring_alert_policy', 'old-vm'));
      expect(policy).toContain(
        JSON.stringify(`metadata.user_labels."${MANAGED_BY.key}"="${MANAGED_BY.value}"`).slice(1, -1),
      );
    });

    it('reach Google’s APIs without NAT, which would be billed while nothing runs', () => {
      expect(all('google_compute_subnetwork').every(({ values }) => values.private_ip_google_access === true)).toBe(
        true,
      );
      expect(all('google_compute_router_nat')).toEqual([]);
      const pattern = environmentOf('provision').SUBNETWORK ?? '';
      expect(pattern).toBe(`projects/${PROJECT}/regions/{region}/subnetworks/dropforge`);
    });
  });

  it('outputs the deployment file in the format that the CLI reads', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'dropforge-output-')), 'deployment.json');
    await writeFile(file, await terraform().must('.', ['output', '-json', 'deployment']));
    expect(await readDeployment(file)).toEqual({
      projectId: PROJECT,
      api: environmentOf('api').API_URL,
      pageUrl: PAGE_URL,
      uploadBucket: environmentOf('on-upload').UPLOAD_BUCKET,
      jobsBucket: environmentOf('on-upload').JOBS_BUCKET,
      submitTopic: expect.stringMatching(/dropforge-submit/),
      internetAccess: { regions: [], networks: {}, remoteRepositories: {} },
    });
    await rm(dirname(file), { recursive: true });
  });

  it('has a subscription for every function except heartbeat and api', () => {
    const subscribed = all('google_pubsub_subscription').map(({ key }) => String(key).replace(/^notify-.*/, 'notify'));
    const others = all('google_cloudfunctions2_function').flatMap(({ key }) =>
      subscribed.includes(String(key)) ? [] : [key],
    );
    expect(others.sort()).toEqual([...HTTP_FUNCTION_NAMES].sort());
  });
}
