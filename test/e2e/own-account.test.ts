import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const TRAINER = 'trainer@my-project.iam.gserviceaccount.com';
const NETWORK = 'projects/my-project/global/networks/training';
const SUBNETWORK = 'projects/my-project/regions/us-central1/subnetworks/gpu';

/** Writes what the metadata server says about the account, and the account that an identity token names. */
const READS_ACCOUNT = `
import base64, json, os, urllib.request
url = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/'
def read(path):
    request = urllib.request.Request(url + path, headers={'Metadata-Flavor': 'Google'})
    return urllib.request.urlopen(request).read().decode()
payload = read('default/identity?audience=test&format=full').split('.')[1]
claims = json.loads(base64.urlsafe_b64decode(payload + '=' * (-len(payload) % 4)))
found = {'email': read('default/email'), 'accounts': read('').split(), 'token': claims['email']}
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/account.json', 'w') as file:
    json.dump(found, file)
`;

let cloud: CloudUnderTest;
beforeAll(async () => {
  cloud = await startCloudUnderTest({
    timeouts: { syncMs: 300 },
    jobAccounts: [TRAINER],
    jobNetworks: { [NETWORK]: { subnetworks: { 'us-central1': SUBNETWORK } } },
  });
});
afterAll(() => cloud.stop());

const jobOf = (name: string, rights: object) => ({ name, module: 'trainer.task', region: 'us-central1', ...rights });

it('a job runs as the service account that it names: its program sees no other, and its outputs are in its own bucket', async () => {
  const job = jobOf('own', { serviceAccount: TRAINER, network: NETWORK });
  await cloud.upload('own.tar.gz', await packProgram(READS_ACCOUNT, job));

  const ended = await cloud.awaitJob('own');

  expect(ended).toMatchObject({ state: 'SUCCEEDED' });
  const bucket = /^gs:\/\/([^/]+)\/own$/.exec(String(ended.jobDir))?.[1] ?? '';
  expect(bucket).toMatch(/^dropforge-local-jobs-[0-9a-f]{8}$/);
  expect(JSON.parse((await cloud.readObject(bucket, 'own/account.json')) ?? 'null')).toEqual({
    email: TRAINER,
    accounts: [`${TRAINER}/`, 'default/'],
    token: TRAINER,
  });
});

it('a job without an account runs as that of the deployment', async () => {
  await cloud.upload('plain.tar.gz', await packProgram(READS_ACCOUNT, jobOf('plain', {})));

  expect(await cloud.awaitJob('plain')).toMatchObject({ state: 'SUCCEEDED' });
  const found = JSON.parse((await cloud.readObject(cloud.endpoints.jobsBucket, 'plain/account.json')) ?? 'null');
  expect(found).toMatchObject({ email: 'dropforge-vm@dropforge-local.iam.gserviceaccount.com' });
});

it('a job with an account that is not listed is refused, with the line that is missing and the nearest account', async () => {
  const job = jobOf('unlisted', { serviceAccount: 'trainr@my-project.iam.gserviceaccount.com' });
  await cloud.upload('unlisted.tar.gz', await packProgram(READS_ACCOUNT, job));

  expect(await cloud.awaitReport('unlisted.tar.gz.report.json')).toMatchObject({
    verdict: 'REFUSED',
    problems: [
      {
        code: 'SERVICE_ACCOUNT_NOT_LISTED',
        remedy: expect.stringContaining(
          `Did you mean "${TRAINER}"? Add jobAccounts: [${TRAINER}, trainr@my-project.iam.gserviceaccount.com] to the configuration of dropforge up`,
        ),
      },
    ],
  });
});
