import { describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import { type JobRights, jobRightsSchema, NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { checkAccount, jobsBucketOf } from '#shared/use-cases/intake/checks/account.ts';
import type { RuntimeFound } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { checkKmsKey } from '#shared/use-cases/intake/checks/kms-key.ts';
import { checkNetwork, resolveNetwork } from '#shared/use-cases/intake/checks/network.ts';
import { checkSecretNames } from '#shared/use-cases/intake/checks/secret-names.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { located } from '../../support/job-file/located.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const TRAINER = 'trainer@p-labs.iam.gserviceaccount.com';
const OTHER = 'reader@p-labs.iam.gserviceaccount.com';
const NETWORK = 'projects/net/global/networks/vpc';
const SUBNETWORK = 'projects/net/regions/us-central1/subnetworks/gpu';
const ATTACHMENT = 'projects/data/regions/us-central1/networkAttachments/lake';
const KEY = 'projects/keys/locations/us-central1/keyRings/r/cryptoKeys/disks';

const RIGHTS: JobRights = jobRightsSchema.parse({
  accounts: {
    [TRAINER]: { bucket: 'p-jobs-1', secrets: ['hf-token'] },
    [OTHER]: { bucket: 'p-jobs-2' },
  },
  networks: { [NETWORK]: { subnetworks: { 'us-central1': SUBNETWORK }, networkAttachments: [ATTACHMENT] } },
  keys: [KEY, 'projects/keys/locations/europe/keyRings/r/cryptoKeys/archive'],
});

const IMAGE: RuntimeFound = {
  name: '2.11',
  note: null,
  pythonVersion: null,
  gpus: null,
  bootDiskGib: null,
  architecture: 'amd64',
};

type Given = {
  readonly rights?: JobRights;
  readonly runtimeOf?: () => RuntimeFound | undefined;
  readonly diskKmsKey?: string;
  readonly secrets?: JobDraft['secrets'];
};

const NOTHING = { network: null, subnetwork: null, networkAttachment: null };

/** The problems of a job, and its network as it is resolved before them. */
async function check(change: Partial<JobSpec>, given: Given = {}) {
  const { rights = RIGHTS, runtimeOf = () => IMAGE, diskKmsKey, secrets = [] } = given;
  const spec: JobSpec = { ...queuedJob().spec, region: 'us-central1', jobDir: 'gs://elsewhere/run', ...change };
  const fields = ['serviceAccount', 'network', 'subnetwork', 'networkAttachment', 'kmsKeyName'] as const;
  const draft = Object.fromEntries(
    fields.map((name) => [name, spec[name] === null ? undefined : located(spec[name], name, 3)]),
  );
  const network = resolveNetwork(spec, rights);
  const job = { draft: { ...EMPTY_DRAFT, ...draft, secrets }, spec: { ...spec, ...network } };
  const intake = { rights, jobsBucket: 'p-jobs', diskKmsKey, runtimeOf };
  const problems: Problem[] = [];
  for (const one of [checkAccount, checkNetwork, checkKmsKey]) {
    problems.push(...(await runCheck(one, job, { intake })).problems);
  }
  return { problems, network };
}

describe('the rights of a job', () => {
  it('are those of the deployment if it names none', async () => {
    expect(await check({}, { rights: NO_RIGHTS })).toEqual({ problems: [], network: NOTHING });
  });

  it('need a region in which the key of the deployment can encrypt disks, unless the job has a key of its own', async () => {
    const diskKmsKey = 'projects/keys/locations/europe-west4/keyRings/r/cryptoKeys/all';
    expect((await check({}, { diskKmsKey })).problems).toMatchObject([
      {
        code: 'KMS_KEY_NOT_IN_REGION',
        message: `The job runs in us-central1, and the key of this deployment, ${diskKmsKey}, is in europe-west4, which cannot encrypt disks there.`,
        remedy: expect.stringMatching(
          /^Choose a region of europe-west4, or a key in us-central1 for the job\. Add the line job_keys = /,
        ),
      },
    ]);
    expect((await check({ region: 'europe-west4' }, { diskKmsKey })).problems).toEqual([]);
    expect((await check({ kmsKeyName: KEY }, { diskKmsKey })).problems).toEqual([]);
  });

  it('can be every right that the deployment lists, with the subnetwork of its region', async () => {
    const all = { serviceAccount: TRAINER, network: NETWORK, networkAttachment: 'lake', kmsKeyName: KEY };
    expect(await check(all)).toEqual({
      problems: [],
      network: { network: NETWORK, subnetwork: SUBNETWORK, networkAttachment: ATTACHMENT },
    });
  });

  it('include the network of a listed subnetwork', async () => {
    expect(await check({ subnetwork: SUBNETWORK })).toMatchObject({ problems: [], network: { network: NETWORK } });
  });

  it.each<[string, Partial<JobSpec>, string]>([
    ['service account', { serviceAccount: TRAINER }, `job_accounts = ["${TRAINER}"]`],
    [
      'network',
      { network: NETWORK },
      `job_networks = { "${NETWORK}" = { subnetworks = { us-central1 = "projects/net/regions/us-central1/subnetworks/SUBNETWORK" } } }`,
    ],
    [
      'network attachment',
      { networkAttachment: ATTACHMENT },
      `job_networks = { "projects/data/global/networks/NETWORK" = { network_attachments = ["${ATTACHMENT}"] } }`,
    ],
    ['encryption key', { kmsKeyName: KEY }, `job_keys = ["${KEY}"]`],
  ])('without a list allow no %s, and name the missing line of Terraform', async (_, change, line) => {
    const { problems } = await check(change, { rights: NO_RIGHTS });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      code: expect.stringMatching(/_NOT_LISTED$/),
      path: Object.keys(change)[0],
      line: 3,
    });
    expect(problems[0]?.message).toContain('(none)');
    expect(problems[0]?.remedy).toContain(`Add the line ${line} to terraform.tfvars and run terraform apply`);
  });

  it('suggest the listed account with the nearest name, and keep the others in the line', async () => {
    const { problems } = await check({ serviceAccount: 'trainr@p-labs.iam.gserviceaccount.com' });
    expect(problems[0]?.remedy).toMatch(`Did you mean "${TRAINER}"? `);
    expect(problems[0]?.remedy).toContain(
      `job_accounts = ["${TRAINER}", "${OTHER}", "trainr@p-labs.iam.gserviceaccount.com"]`,
    );
  });

  it('suggest the listed network of the same name, if the job has its project number', async () => {
    expect((await check({ network: 'projects/123456789/global/networks/vpc' })).problems[0]?.remedy).toMatch(
      `Did you mean "${NETWORK}"? `,
    );
  });

  it.each<[string, Partial<JobSpec>, string]>([
    ['a network without a subnetwork there', { network: NETWORK }, 'NETWORK_NOT_IN_REGION'],
    ['a network attachment elsewhere', { networkAttachment: ATTACHMENT }, 'NETWORK_ATTACHMENT_NOT_IN_REGION'],
    ['a key elsewhere', { kmsKeyName: KEY }, 'KMS_KEY_NOT_IN_REGION'],
  ])('in another region reject %s before a VM exists', async (_, change, code) => {
    expect((await check({ ...change, region: 'europe-west4' })).problems).toMatchObject([{ code }]);
  });

  it.each([
    ['us-central1', 'us-central1', true],
    ['global', 'us-central1', true],
    ['us', 'us-central1', true],
    ['europe', 'europe-west4', true],
    ['eur4', 'us-central1', false],
    ['europe', 'us-central1', false],
    ['us-east1', 'us-central1', false],
    // Unknown here: Compute Engine decides.
    ['moon', 'us-central1', true],
  ])('with a key in %s allow the region %s: %s', async (location, region, isAllowed) => {
    const kmsKeyName = `projects/keys/locations/${location}/keyRings/r/cryptoKeys/k`;
    const { problems } = await check({ kmsKeyName, region }, { rights: { ...NO_RIGHTS, keys: [kmsKeyName] } });
    expect(problems.length === 0).toBe(isAllowed);
  });

  it('allow no key for a runtime whose disks have that of a machine image', async () => {
    const { problems } = await check({ kmsKeyName: KEY }, { runtimeOf: () => ({ ...IMAGE, bootDiskGib: 100 }) });
    expect(problems).toMatchObject([{ code: 'KMS_KEY_OF_MACHINE_IMAGE', path: 'kmsKeyName' }]);
  });

  it('allow only the subnetwork that is listed for the region', async () => {
    const subnetwork = 'projects/net/regions/us-central1/subnetworks/other';
    expect((await check({ network: NETWORK, subnetwork })).problems).toMatchObject([{ code: 'NETWORK_NOT_IN_REGION' }]);
  });

  it.each([
    ['of another account', TRAINER, 'gs://p-jobs-2/run'],
    ['that all other jobs share', TRAINER, 'gs://p-jobs/run'],
    ['of an account, without one', null, 'gs://p-jobs-1/run'],
  ])('allow no job directory in the bucket %s', async (_, serviceAccount, jobDir) => {
    expect((await check({ serviceAccount, jobDir })).problems).toMatchObject([{ code: 'JOB_DIR_OF_OTHER_ACCOUNT' }]);
  });

  it('allow a job directory in the own bucket, and in buckets that the deployment does not know', async () => {
    expect((await check({ serviceAccount: TRAINER, jobDir: 'gs://p-jobs-1/run' })).problems).toEqual([]);
    expect((await check({ serviceAccount: TRAINER, jobDir: 'gs://my-data/run' })).problems).toEqual([]);
  });

  it('allow the secrets that are granted to the account, and those of other projects', async () => {
    const secretOf = (secret: string, project: string | null = null) => ({
      TOKEN: { project, secret, version: 'latest' },
    });
    expect((await check({ serviceAccount: TRAINER, secrets: secretOf('hf-token') })).problems).toEqual([]);
    expect((await check({ serviceAccount: OTHER, secrets: secretOf('hf-token', 'elsewhere') })).problems).toEqual([]);
    expect((await check({ serviceAccount: OTHER, secrets: secretOf('hf-token') })).problems).toMatchObject([
      {
        code: 'SECRET_NOT_GRANTED',
        remedy: expect.stringContaining(`job_account_secrets = { "${OTHER}" = ["hf-token"] }`),
      },
    ]);
  });

  it('name the place of a secret that is not granted, among several', async () => {
    const secrets = Object.fromEntries(
      ['A', 'B'].map((key) => [key, { project: null, secret: `secret-${key}`, version: 'latest' }]),
    );
    const written = ['A', 'B'].map((key, index) =>
      located({ key, text: `secret-${key}` }, `secrets.${key}`, 5 + index),
    );
    const { problems } = await check({ serviceAccount: OTHER, secrets }, { secrets: written });
    expect(problems.map(({ path, line }) => [path, line])).toEqual([
      ['secrets.A', 5],
      ['secrets.B', 6],
    ]);
  });

  it.each([
    [TRAINER, 'gs://p-jobs-2/run', `runs as ${TRAINER}`],
    [null, 'gs://p-jobs-1/run', "runs as the deployment's own account"],
  ])('say as which account a job with a directory of others runs: %s', async (serviceAccount, jobDir, message) => {
    expect((await check({ serviceAccount, jobDir })).problems[0]?.message).toContain(message);
  });

  it('say of an account that is not listed that, and nothing of its bucket', async () => {
    const serviceAccount = 'unlisted@p-labs.iam.gserviceaccount.com';
    const { problems } = await check({ serviceAccount, jobDir: 'gs://p-jobs-1/run' });
    expect(problems).toMatchObject([{ code: 'SERVICE_ACCOUNT_NOT_LISTED' }]);
  });

  it('of a network in another region name its regions, and of another subnetwork the one that is listed', async () => {
    const elsewhere = (await check({ network: NETWORK, region: 'europe-west4' })).problems[0];
    expect(elsewhere?.message).toBe(
      `The job runs in europe-west4, where the network ${NETWORK} has no subnetwork for jobs (only in us-central1).`,
    );
    expect(elsewhere?.remedy).toMatch(/^Choose one of its regions, or add the line /);
    const subnetwork = 'projects/net/regions/us-central1/subnetworks/other';
    expect((await check({ network: NETWORK, subnetwork })).problems[0]?.message).toBe(
      `The job uses the subnetwork ${subnetwork}, but jobs in ${NETWORK} use ${SUBNETWORK} in us-central1.`,
    );
    const moved = { network: NETWORK, subnetwork: SUBNETWORK, region: 'europe-west4' };
    expect((await check(moved)).problems[0]?.message).toContain('has no subnetwork for jobs (only in us-central1)');
  });

  it('suggest the listed subnetwork with the nearest name', async () => {
    const subnetwork = 'projects/net/regions/us-central1/subnetworks/gpus';
    expect((await check({ subnetwork })).problems[0]?.remedy).toMatch(`Did you mean "${SUBNETWORK}"? `);
  });

  it('find a network attachment by its short name in the region of the job only', async () => {
    const inEurope = ATTACHMENT.replace('us-central1', 'europe-west4');
    const other = ATTACHMENT.replace('lake', 'pond');
    const networks = { [NETWORK]: { subnetworks: {}, networkAttachments: [inEurope, other, ATTACHMENT] } };
    const rights = { ...NO_RIGHTS, networks };
    expect((await check({ networkAttachment: 'lake' }, { rights })).network.networkAttachment).toBe(ATTACHMENT);
    expect((await check({ networkAttachment: 'sea' }, { rights })).problems).toMatchObject([
      { code: 'NETWORK_ATTACHMENT_NOT_LISTED' },
    ]);
  });

  it('allow a key if the runtime is not known, which is reported by itself', async () => {
    expect((await check({ kmsKeyName: KEY }, { runtimeOf: () => undefined })).problems).toEqual([]);
    expect((await check({}, { runtimeOf: () => ({ ...IMAGE, bootDiskGib: 100 }) })).problems).toEqual([]);
  });

  it.each([
    [5, 'k0, k1, k2, k3, k4)'],
    [7, 'k0, k1, k2, k3, k4 and 2 more)'],
  ])('list five names of %i at most', async (count, shown) => {
    const keys = Array.from({ length: count }, (_, index) => `k${index}`);
    expect((await check({ kmsKeyName: KEY }, { rights: { ...NO_RIGHTS, keys } })).problems[0]?.message).toContain(
      shown,
    );
  });

  it.each(['constructor', '__proto__'])('do not include the account %s', (name) => {
    expect(jobsBucketOf({ rights: RIGHTS, jobsBucket: 'p-jobs' }, name)).toBe('p-jobs');
  });
});

describe('the lists of a deployment', () => {
  it.each([
    ['an account of the deployment', 'dropforge-provision@p-labs.iam.gserviceaccount.com'],
    ['a default account', '123456789-compute@developer.gserviceaccount.com'],
    ["one of Google's agents", 'service-1@compute-system.iam.gserviceaccount.com'],
    ['a person', 'someone@example.com'],
  ])('cannot contain %s', (_, email) => {
    expect(jobRightsSchema.safeParse({ accounts: { [email]: { bucket: 'p-jobs-1' } } }).success).toBe(false);
  });
});

describe('the names of secrets', () => {
  const secrets = {
    HF_TOKEN: { project: null, secret: 'hf-token', version: 'latest' },
    KEY: { project: 'shared', secret: 'key', version: '3' },
  };
  const check = (find: SecretNames['find']) =>
    runCheck(checkSecretNames, { spec: { ...queuedJob().spec, secrets } }, { intake: { secretNames: { find } } });

  it('are looked up before a VM is created, and a missing one is a problem with what to do', async () => {
    const remedy = 'Correct its name and version, or create it: dropforge secrets create hf-token --data-file=-';
    const missing = { state: 'MISSING', reason: 'does not exist', remedy } as const;
    const found = await check(async ({ secret }) => (secret === 'hf-token' ? missing : { state: 'EXISTS' }));
    const message = 'The secret hf-token, version latest, of the variable HF_TOKEN does not exist.';
    expect(found).toMatchObject({ problems: [{ code: 'SECRET_MISSING', message, remedy }], warnings: [] });
  });

  it('that could not be looked up are a warning, with which the job starts', async () => {
    const unknown = { state: 'UNKNOWN', reason: 'Secret Manager answered with HTTP 403', remedy: 'Check it' } as const;
    const found = await check(async ({ project }) => (project === 'shared' ? unknown : { state: 'EXISTS' }));
    const what = 'the secret projects/shared/secrets/key, version 3, of the variable KEY exists was not checked';
    const message = `Whether ${what}: Secret Manager answered with HTTP 403.`;
    expect(found).toMatchObject({
      problems: [],
      warnings: [{ code: 'SECRET_NOT_CHECKED', message, remedy: 'Check it' }],
    });
  });

  it('are looked up at once, so that a job with many secrets waits for one answer', async () => {
    const { promise: allAsked, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const found = await check(async () => {
      asked += 1;
      if (asked === Object.keys(secrets).length) {
        resolve();
      }
      await allAsked;
      return { state: 'EXISTS' };
    });
    expect(found).toMatchObject({ problems: [], warnings: [] });
  });
});
