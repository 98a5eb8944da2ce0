import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '#functions/read-settings.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const ACCOUNT = 'trainer@my-project.iam.gserviceaccount.com';
const REPOSITORY = 'projects/lab/locations/europe-west4/repositories/trainers';
const REQUIRED = ['-var=project_id=my-project', '-var=runtime_images={"2.11"={image="i"}}'];
const VARIABLES = [
  ...REQUIRED,
  `-var=image_repositories=["${REPOSITORY}"]`,
  '-var=registries={"ghcr.io"={secret="ghcr-reader"},"r.example.com:5000"={secret="own",token_host="auth.example.com"}}',
  '-var=containers={allow_root=false}',
  `-var=job_accounts=["${ACCOUNT}"]`,
  '-var=remote_repositories={"docker-hub"="docker.io","ghcr"="ghcr.io"}',
  '-var=job_networks={"projects/lab/global/networks/a"={internet_regions=["us-east1"]},"projects/lab/global/networks/b"={}}',
];

/** Intake pins images, and VMs pull them. */
const READERS = ['api', 'on-submit', 'on-upload', `serviceAccount:${ACCOUNT}`, 'vm'];

let terraform: TerraformCopy;
let resources: readonly Resource[] = [];

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('images of jobs', describeImages);
} else {
  leaveOut('terraform', 'container images');
}

const all = (type: string) => resources.filter((resource) => resource.type === type);

function accountOf(member: unknown): string {
  return /google_service_account\/dropforge-([a-z-]+)\//.exec(String(member))?.[1] ?? String(member);
}

function environmentOf(name: string): Readonly<Record<string, string>> {
  const found = all('google_cloudfunctions2_function').find(({ key }) => key === name);
  const [config] = (found?.values.service_config ?? []) as readonly Readonly<Record<string, unknown>>[];
  return config?.environment_variables as Readonly<Record<string, string>>;
}

function describeImages() {
  it('are read from the listed repositories by intake and VMs alone', () => {
    const grants = all('google_artifact_registry_repository_iam_member').filter(
      ({ values }) => values.repository === 'trainers',
    );
    expect(grants.map(({ values }) => accountOf(values.member)).sort()).toEqual(READERS);
    for (const { values } of grants) {
      expect(values).toMatchObject({ project: 'lab', location: 'europe-west4', role: 'roles/artifactregistry.reader' });
    }
  });

  it('of other registries are fetched by repositories of the deployment, read by the same accounts', () => {
    const grants = all('google_artifact_registry_repository_iam_member').filter(
      ({ values }) => values.repository === 'docker-hub',
    );
    expect(grants.map(({ values }) => accountOf(values.member)).sort()).toEqual(READERS);
    const remote = all('google_artifact_registry_repository').filter(
      ({ values }) => values.mode === 'REMOTE_REPOSITORY',
    );
    const upstreams = remote.map(({ values }) => {
      const [config] = values.remote_repository_config as readonly [{ docker_repository: readonly object[] }];
      return [values.repository_id, values.mode, values.location, config.docker_repository[0]];
    });
    expect(upstreams).toMatchObject([
      ['docker-hub', 'REMOTE_REPOSITORY', 'us-central1', { public_repository: 'DOCKER_HUB' }],
      ['ghcr', 'REMOTE_REPOSITORY', 'us-central1', { custom_repository: [{ uri: 'https://ghcr.io' }] }],
    ]);
  });

  it('are compared at intake with what VMs reach: the network without NAT, and what operators state', () => {
    const internetAccess = {
      regions: [],
      networks: { 'projects/lab/global/networks/a': ['us-east1'] },
      remoteRepositories: {
        'docker.io': 'us-central1-docker.pkg.dev/my-project/docker-hub',
        'ghcr.io': 'us-central1-docker.pkg.dev/my-project/ghcr',
      },
    };
    for (const name of ['on-upload', 'on-submit', 'api', 'on-dead-letter'] as const) {
      expect(readSettings(name, environmentOf(name))).toMatchObject({ settings: { INTERNET_ACCESS: internetAccess } });
    }
    expect(environmentOf('provision')).not.toHaveProperty('INTERNET_ACCESS');
  });

  it('need no right on any project', () => {
    const ofProjects = all('google_project_iam_member').map(({ values }) => String(values.role));
    expect(ofProjects.filter((role) => role.includes('artifactregistry'))).toEqual([]);
  });

  it('of other registries need logins, which the same accounts read', () => {
    const grants = all('google_secret_manager_secret_iam_member').map(
      ({ key, values }) => `${String(key).split('/').at(-1)} ${accountOf(values.member)}`,
    );
    const expected = ['ghcr-reader', 'own'].flatMap((secret) => READERS.map((account) => `${secret} ${account}`));
    expect(grants.sort()).toEqual(expected.sort());
  });

  it('are looked up with the settings of intake, and pulled with those of provision', () => {
    const registries = {
      'ghcr.io': { secret: 'ghcr-reader' },
      'r.example.com:5000': { secret: 'own', tokenHost: 'auth.example.com' },
    };
    for (const name of ['on-upload', 'on-submit', 'api'] as const) {
      const reading = readSettings(name, environmentOf(name));
      expect(reading).toMatchObject({ settings: { REGISTRIES: registries, CONTAINERS_AS_ROOT: false } });
    }
    expect(readSettings('provision', environmentOf('provision'))).toMatchObject({
      settings: { REGISTRIES: registries },
    });
    expect(environmentOf('watch')).not.toHaveProperty('REGISTRIES');
  });
}
