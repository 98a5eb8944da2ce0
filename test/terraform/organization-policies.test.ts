import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveOut } from '../support/run/leave-out.ts';
import { plan, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const REGION = 'europe-west4';
const KEY = `projects/keys/locations/${REGION}/keyRings/r/cryptoKeys/k`;
const CONNECTOR = `projects/host/locations/${REGION}/connectors/functions`;

/** The variables of what has data or runs code, with all options that add some. */
const VARIABLES = [
  '-var=project_id=my-project',
  `-var=region=${REGION}`,
  '-var=runtime_images={"2.11"={image="i"}}',
  `-var=encryption={kms_key_name="${KEY}"}`,
  `-var=functions_vpc_connector={name="${CONNECTOR}"}`,
  '-var=notifications={team={kind="slack",secret="slack-team"}}',
  '-var=api_access={ingress="ALLOW_INTERNAL_AND_GCLB"}',
  '-var=page_access={members=["group:team@example.com"],ingress="ALLOW_INTERNAL_AND_GCLB"}',
  '-var=remote_repositories={hub="docker.io"}',
  '-var=secrets=["hf-token"]',
  '-var=job_accounts=["trainer@my-project.iam.gserviceaccount.com"]',
];

/** Types for which `gcp.restrictNonCmekServices` requires a key, and the number of each. */
const ENCRYPTED: Readonly<Record<string, number>> = {
  google_artifact_registry_repository: 2,
  google_cloud_run_service: 1,
  google_cloudfunctions2_function: 13,
  google_firestore_database: 1,
  google_logging_project_bucket_config: 1,
  google_pubsub_topic: 10,
  google_secret_manager_secret: 2,
  google_storage_bucket: 5,
};

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await plan(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('under policies of an organization', describePolicies);
} else {
  leaveOut('terraform', 'organization policies');
}

const all = (type: string) => resources.filter((resource) => resource.type === type);

/** Every value of a resource that is a location, with those of nested blocks. */
function locationsIn(value: unknown, name = ''): readonly string[] {
  if (typeof value === 'object' && value !== null) {
    // A label of a metric can be a zone.
    const items = Object.entries(value).filter(([key]) => key !== 'label_extractors');
    return items.flatMap(([key, item]) => locationsIn(item, Array.isArray(value) ? name : key));
  }
  const isLocation = /^(location|location_id|region|zone|locations|data_locations)$/.test(name);
  return isLocation && typeof value === 'string' ? [value.toLowerCase()] : [];
}

function describePolicies() {
  it('restrictNonCmekServices: all that stores data or images has the key', () => {
    for (const [type, count] of Object.entries(ENCRYPTED)) {
      const found = all(type);
      expect(found, type).toHaveLength(count);
      const withKey = found.filter(({ values }) => {
        // The key of disks is a setting of functions.
        const { service_config: _, ...own } = values;
        return JSON.stringify(own).includes(KEY);
      });
      expect(withKey, type).toHaveLength(count);
    }
  });

  it('requireVPCConnector, allowedVPCEgress: all traffic of functions and the page leaves through the connector', () => {
    for (const { address, values } of all('google_cloudfunctions2_function')) {
      const egress = { vpc_connector: CONNECTOR, vpc_connector_egress_settings: 'ALL_TRAFFIC' };
      expect(values.service_config, address).toMatchObject([egress]);
    }
    const [page] = all('google_cloud_run_service');
    expect(page?.values).toMatchObject({
      template: [
        {
          metadata: [
            {
              annotations: {
                'run.googleapis.com/encryption-key': KEY,
                'run.googleapis.com/vpc-access-connector': CONNECTOR,
                'run.googleapis.com/vpc-access-egress': 'all-traffic',
              },
            },
          ],
        },
      ],
    });
  });

  it('allowedIngress, allowedIngressSettings: nothing is reached from the internet but through a load balancer', () => {
    const settings = all('google_cloudfunctions2_function').map(
      ({ values }) => Object(values.service_config)[0].ingress_settings,
    );
    expect([...new Set(settings)].sort()).toEqual(['ALLOW_INTERNAL_AND_GCLB', 'ALLOW_INTERNAL_ONLY']);
    const ingress = { 'run.googleapis.com/ingress': 'internal-and-cloud-load-balancing' };
    expect(all('google_cloud_run_service')[0]?.values).toMatchObject({ metadata: [{ annotations: ingress }] });
    // Cloud Monitoring could not reach it.
    expect(all('google_monitoring_uptime_check_config')).toEqual([]);
  });

  it('resourceLocations: nothing is outside of the region, values of secrets neither', () => {
    const located = resources.map((resource) => [resource, locationsIn(resource.values)] as const);
    expect(located.filter(([, locations]) => locations.length > 0).length).toBeGreaterThan(40);
    const outside = located.filter(([, locations]) => locations.some((location) => location !== REGION));
    expect(outside.map(([{ address }, locations]) => `${address}: ${locations}`)).toEqual([]);
  });
}
