import { createServer, type RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { expect, it } from 'vitest';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import { createSecretManagerServer } from '#infra/embedded/secret-manager/server.ts';
import { createSecretManagerReader } from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import { describeSecretNamesContract, type OpenedNames, PROJECT_ID } from '../contract/secret-names.contract.ts';

describeSecretNamesContract('Secret Manager', (secrets) =>
  openNames(getRequestListener(createSecretManagerServer(secrets, PROJECT_ID).fetch)),
);

async function openNames(listener: RequestListener, findMsMax?: number): Promise<OpenedNames> {
  const server = createServer(listener);
  const url = `http://${HOST}:${await listen(server, 0)}`;
  const auth = new GoogleAuth({ authClient: new PassThroughClient() });
  const options = { projectId: PROJECT_ID, url, auth, ...(findMsMax !== undefined && { findMsMax }) };
  return { names: createSecretManagerReader(options), close: () => closeServer(server) };
}

/** The finding about a server that gives one answer, and the paths that it was asked for. */
async function findWith(status: number, body: object, project: string | null = null) {
  const paths: (string | undefined)[] = [];
  const { names, close } = await openNames(({ url }, response) => {
    paths.push(url);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  try {
    return { paths, found: await names.find({ project, secret: 'hf-token', version: '3' }) };
  } finally {
    await close();
  }
}

const errorOf = (code: number, status: string) => ({ error: { code, status, message: 'Denied.' } });

it('asks Secret Manager once for the metadata of a version, never for its value', async () => {
  const { paths, found } = await findWith(200, { name: 'n', state: 'ENABLED' }, 'example.com:shared');
  expect(paths).toEqual(['/v1/projects/example.com:shared/secrets/hf-token/versions/3']);
  expect(found).toEqual({ state: 'EXISTS' });
});

it.each([null, 'shared'])(
  'cannot tell without the permission in the project %s, and says how to allow it',
  async (project) => {
    const { paths, found } = await findWith(403, errorOf(403, 'PERMISSION_DENIED'), project);
    expect(found).toEqual({
      state: 'UNKNOWN',
      reason: 'Secret Manager answered with HTTP 403',
      remedy: `Check it: gcloud secrets versions describe 3 --secret=hf-token --project=${project ?? PROJECT_ID}. To have it checked, let intake read names there (docs/job-file.md#secrets).`,
    });
    expect(paths).toHaveLength(1);
  },
);

it.each([
  [429, errorOf(429, 'RESOURCE_EXHAUSTED'), 'Secret Manager answered with HTTP 429'],
  [503, errorOf(503, 'UNAVAILABLE'), 'Secret Manager answered with HTTP 503'],
  [200, { state: 'NEW' }, 'Secret Manager gave no valid answer in time'],
])('cannot tell from an answer of %i, and does not retry', async (status, body, reason) => {
  const { paths, found } = await findWith(status, body);
  const remedy = `Check it: gcloud secrets versions describe 3 --secret=hf-token --project=${PROJECT_ID}`;
  expect(found).toEqual({ state: 'UNKNOWN', reason, remedy });
  expect(paths).toHaveLength(1);
});

it('cannot tell from a server that does not answer in time', async () => {
  const { names, close } = await openNames(() => undefined, 50);
  const found = await names.find({ project: null, secret: 'hf-token', version: 'latest' });
  expect(found).toMatchObject({ state: 'UNKNOWN', reason: 'Secret Manager gave no valid answer in time' });
  await close();
});

it.each([
  ['DISABLED', 'is disabled'],
  ['DESTROYED', 'is destroyed'],
])('takes a version that is %s for missing: no VM could read it', async (state, reason) => {
  expect((await findWith(200, { state })).found).toMatchObject({ state: 'MISSING', reason });
});

it('says where a secret of the deployment is listed, and only adds a version to one of another project', async () => {
  const missing = errorOf(404, 'NOT_FOUND');
  const addTo = (project: string) => `gcloud secrets versions add hf-token --project=${project} --data-file=-`;
  const own = `list hf-token in Terraform's variable secrets, and run ${addTo(PROJECT_ID)}`;
  const cause = 'Correct its name and version, or add it:';
  expect((await findWith(404, missing)).found).toMatchObject({ remedy: `${cause} ${own}` });
  expect((await findWith(404, missing, 'shared')).found).toMatchObject({ remedy: `${cause} ${addTo('shared')}` });
});
