import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, plan, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const REQUIRED = ['-var=project_id=my-project', '-var=runtime_images={"2.11"={image="i"}}'];
const ON = [...REQUIRED, '-var=shell_access={members=["user:ada@example.com"]}'];

let terraform: TerraformCopy;
const ACCOUNT = 'reader@team-project.iam.gserviceaccount.com';
const WITH_ACCOUNT = `-var=job_accounts=["${ACCOUNT}"]`;

let off: readonly Resource[] = [];
let on: readonly Resource[] = [];
let onWithAccount: readonly Resource[] = [];

const named = (resources: readonly Resource[], type: string, name: string) =>
  resources.filter((resource) => resource.type === type && resource.name === name);

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    off = await apply(terraform, '.', [...REQUIRED, WITH_ACCOUNT]);
    on = await apply(terraform, '.', ON);
    onWithAccount = await apply(terraform, '.', [...ON, WITH_ACCOUNT]);
  });
  afterAll(() => terraform.close());
  describe('shell_access', describeShellAccess);
} else {
  leaveOut('terraform', 'shell access');
}

function describeShellAccess() {
  it('is off by default: no port is open, and no member has a role', () => {
    const types = ['google_compute_firewall', 'google_project_iam_member', 'google_service_account_iam_member'];
    expect(types.flatMap((type) => named(off, type, 'shell'))).toEqual([]);
  });

  it('opens port 22 of the VMs to Identity-Aware Proxy alone', () => {
    const [rule] = named(on, 'google_compute_firewall', 'shell');
    expect(rule?.values).toMatchObject({
      source_ranges: ['35.235.240.0/20'],
      target_tags: ['dropforge-vm'],
      allow: [{ protocol: 'tcp', ports: ['22'] }],
    });
  });

  it('is possible in an existing network, whose firewall is not changed', async () => {
    const existing =
      'network={existing={subnetwork_pattern="projects/host/regions/{region}/subnetworks/gpu",regions=["us-central1"]}}';
    const resources = await plan(terraform, '.', [...ON, `-var=${existing}`]);
    expect(named(resources, 'google_project_iam_member', 'shell')).toHaveLength(2);
    expect(resources.filter(({ type }) => type === 'google_compute_firewall')).toEqual([]);
  });

  it('grants its members the tunnel, root on the VMs of jobs, and the account of the VMs, and nothing else', () => {
    const roles = named(on, 'google_project_iam_member', 'shell').map(({ values }) => values);
    expect(roles.map(({ role, member }) => `${member} ${role}`).sort()).toEqual([
      'user:ada@example.com roles/compute.osAdminLogin',
      'user:ada@example.com roles/iap.tunnelResourceAccessor',
    ]);
    expect(JSON.stringify(roles)).toContain('destination.port == 22');
    expect(named(on, 'google_service_account_iam_member', 'shell').map(({ values }) => values.role)).toEqual([
      'roles/iam.serviceAccountUser',
    ]);
  });

  it('lets its members use the accounts of jobs as well, which OS Login requires for their VMs', () => {
    const accounts = (resources: readonly Resource[]) =>
      named(resources, 'google_service_account_iam_member', 'shell').map(
        ({ values }) => `${values.member} ${values.role} ${values.service_account_id}`,
      );
    expect(accounts(on)).toHaveLength(1);
    expect(accounts(onWithAccount)).toHaveLength(2);
    expect(accounts(onWithAccount)).toContain(
      `user:ada@example.com roles/iam.serviceAccountUser projects/team-project/serviceAccounts/${ACCOUNT}`,
    );
  });

  it('enables Identity-Aware Proxy if shells are on, and not otherwise', () => {
    const services = (resources: readonly Resource[]) =>
      named(resources, 'google_project_service', 'this').map(({ values }) => values.service);
    expect(services(on)).toContain('iap.googleapis.com');
    expect(services(off)).not.toContain('iap.googleapis.com');
  });
}
