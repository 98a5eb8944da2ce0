import { type ChildProcess, execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import type { Deployment } from '../../cli/client/deployment.ts';
import { startTestCloud, type TestCloud, viewOf } from '../support/cli/test-cloud.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

let cloud: TestCloud;
let work: string;
let file: string;
let servers: Server[];
/** The authorization header of each request to the API. */
let authorizations: string[];

beforeEach(async () => {
  cloud = await startTestCloud();
  work = await mkdtemp(join(tmpdir(), 'dropforge-deployment-'));
  file = join(work, 'deployment.json');
  servers = [];
  authorizations = [];
  cloud.jobs.set('one', [viewOf('one')]);
  await describeDeployment({});
});

afterEach(async () => {
  await Promise.all(servers.map(closeServer));
  await cloud.close();
  await rm(work, { recursive: true });
});

async function serve(app: Hono): Promise<string> {
  const server = createServer(getRequestListener(app.fetch));
  servers.push(server);
  return `127.0.0.1:${await listen(server, 0)}`;
}

/** Starts a proxy of the API that checks the identity token as Cloud Run does, with an HTML page for 403. */
async function startAuthorizingProxy(token: string): Promise<string> {
  const proxy = new Hono();
  proxy.all('*', (context) => {
    const authorization = context.req.header('authorization') ?? '';
    authorizations.push(authorization);
    const { pathname, search } = new URL(context.req.url);
    return authorization === `Bearer ${token}`
      ? fetch(`${cloud.endpoints.api}${pathname}${search}`, { method: context.req.method })
      : context.html('<html><title>403 Forbidden</title></html>', 403);
  });
  return `http://${await serve(proxy)}`;
}

async function describeDeployment(change: Partial<Deployment>): Promise<void> {
  const { projectId, api, storage } = cloud.endpoints;
  const settings = { projectId, api, storage, uploadBucket: 'uploads', jobsBucket: 'jobs' };
  await writeFile(file, JSON.stringify({ ...settings, ...change }));
}

/** Runs the CLI as a process, without any credentials except those in `environment`. */
function dropforge(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onStarted = (_: ChildProcess) => {},
) {
  const env = {
    PATH: join(work, 'bin'),
    HOME: work,
    CLOUDSDK_CONFIG: join(work, 'no-gcloud'),
    METADATA_SERVER_DETECTION: 'none',
    DROPFORGE_DEPLOYMENT: file,
    ...environment,
  };
  return new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [CLI, ...args], { cwd: work, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    onStarted(child);
  });
}

/** Starts a metadata server like that of a machine on Google Cloud. */
async function startMetadataServer(): Promise<string> {
  const metadata = new Hono();
  metadata.use(async (context, next) => {
    await next();
    context.header('Metadata-Flavor', 'Google');
  });
  metadata.get('/computeMetadata/v1/instance', (context) => context.text('id\n'));
  metadata.get('/computeMetadata/v1/instance/service-accounts/default/identity', (context) =>
    context.text(`token-for-${context.req.query('audience')}`),
  );
  return serve(metadata);
}

/**
 * Starts GitHub's token endpoint, the Security Token Service and IAM Credentials, and writes the credentials that
 * google-github-actions/auth writes; `named` has the service account.
 */
async function startFederation(audience: string, named?: Readonly<Record<string, string>>) {
  const requests: string[] = [];
  const federated = { isMember: true };
  const app = new Hono();
  app.get('/github', (context) => {
    requests.push('GitHub');
    return context.req.header('authorization') === 'Bearer runner'
      ? context.json({ value: 'github-token' })
      : context.notFound();
  });
  app.post('/v1/token', async (context) => {
    const { subject_token: subject } = await context.req.parseBody();
    requests.push(`STS ${subject}`);
    const answer = { access_token: 'federated', token_type: 'Bearer', expires_in: 3_600 };
    return context.json({ ...answer, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' });
  });
  app.post('/v1/projects/-/serviceAccounts/:target{.+:generateIdToken}', async (context) => {
    const account = context.req.param('target').replace(/:generateIdToken$/, '');
    const given = await context.req.json();
    const caller = context.req.header('authorization')?.replace('Bearer ', '');
    requests.push(`IAM ${account} ${caller} ${given.audience}`);
    return federated.isMember && given.audience === audience && given.includeEmail === true
      ? context.json({ token: 'token-of-ci' })
      : context.json({ error: { code: 403, message: "Permission 'iam.serviceAccounts.getOpenIdToken' denied" } }, 403);
  });
  const url = `http://${await serve(app)}`;
  const account = `${url}/v1/projects/-/serviceAccounts/ci@acme.iam.gserviceaccount.com:generateAccessToken`;
  const credentials = join(work, 'gha-creds.json');
  await writeFile(
    credentials,
    JSON.stringify({
      universe_domain: 'googleapis.com',
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/github',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${url}/v1/token`,
      credential_source: {
        url: `${url}/github`,
        headers: { Authorization: 'Bearer runner' },
        format: { type: 'json', subject_token_field_name: 'value' },
      },
      ...(named ?? { service_account_impersonation_url: account }),
    }),
  );
  return { environment: { GOOGLE_APPLICATION_CREDENTIALS: credentials }, requests, federated };
}

describe('a Cloud Storage with transient errors', () => {
  const UNAVAILABLE = { kind: 'STATUS', status: 503 } as const;

  it('does not end commands that read and write objects', async () => {
    await cloud.store.write({ bucket: 'jobs', name: 'a.txt' }, Buffer.from('content'));
    cloud.faulty.inject('media', UNAVAILABLE);
    cloud.faulty.inject('media', { kind: 'BROKEN', afterBytes: 4 });
    expect(await dropforge(['cat', 'gs://jobs/a.txt'])).toEqual({ code: 0, stdout: 'content', stderr: '' });
    await writeFile(join(work, 'b.txt'), 'local');
    cloud.faulty.inject('chunk', { kind: 'BROKEN', afterBytes: 4 });
    expect(await dropforge(['cp', 'b.txt', 'gs://jobs/'])).toMatchObject({ code: 0, stderr: '' });
    const written = await cloud.store.read({ bucket: 'jobs', name: 'b.txt' });
    expect(written && (await text(written))).toBe('local');
    expect(cloud.faulty.unseen()).toEqual([]);
  });

  it('that does not answer keeps no command from ending by Ctrl-C, and leaves no part of a file', async () => {
    await cloud.store.write({ bucket: 'jobs', name: 'a.txt' }, Buffer.from('content'));
    const children: ChildProcess[] = [];
    const commands = [
      ['cp', 'gs://jobs/a.txt', 'a.txt'],
      ['cat', 'gs://jobs/a.txt'],
    ];
    cloud.faulty.inject('media', { kind: 'STALL' }, commands.length);
    const ended = commands.map((args) => dropforge(args, {}, (child) => void children.push(child)));
    await vi.waitUntil(() => cloud.faulty.operations.filter((one) => one === 'media').length === 2, 20_000);
    for (const child of children) {
      child.kill('SIGINT');
    }
    expect(await Promise.all(ended)).toEqual(commands.map(() => ({ code: 1, stdout: '', stderr: 'Interrupted.\n' })));
    expect(await readdir(work)).toEqual(['deployment.json']);
  });

  it('does not end the submission of a job', async () => {
    cloud.onObject = async ({ bucket, name }) => {
      if (name.endsWith('job.yaml')) {
        const report = { source: name, verdict: 'ACCEPTED', jobId: 'one', problems: [], warnings: [], job: null };
        await cloud.store.write({ bucket, name: `${name}.report.json` }, Buffer.from(JSON.stringify(report)));
      }
    };
    cloud.faulty.inject('insert', { kind: 'BROKEN', afterBytes: 4 });
    cloud.faulty.inject('media', UNAVAILABLE);
    const args = ['--module-name=t.task', '--packages=gs://uploads/t-1.tar.gz', '--region=us-central1'];
    const { code, stdout, stderr } = await dropforge(['jobs', 'submit', 'training', 'one', ...args]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('Job one ACCEPTED'), expect.anything()]);
    expect(cloud.faulty.unseen()).toEqual([]);
  });
});

describe('the CLI on a deployment', () => {
  it('authenticates on Google Cloud as the machine’s service account, with the API as audience', async () => {
    const audience = await startAuthorizingProxy('to be replaced');
    const api = await startAuthorizingProxy(`token-for-${audience}`);
    await describeDeployment({ api });
    const host = await startMetadataServer();
    const environment = { GCE_METADATA_HOST: host, METADATA_SERVER_DETECTION: 'assume-present' };

    const denied = await dropforge(['jobs', 'list'], environment);
    expect(authorizations).toEqual([`Bearer token-for-${api}`]);
    expect(denied).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`error: ${api} denied access (403): this account may not call the API.`),
    });
  });

  it('uses gcloud’s token for a user account', async () => {
    await describeDeployment({ api: await startAuthorizingProxy('users-token') });
    await mkdir(join(work, 'bin'));
    const gcloud = join(work, 'bin', 'gcloud');
    await writeFile(gcloud, '#!/bin/sh\n[ "$*" = "auth print-identity-token" ] && echo users-token\n');
    await chmod(gcloud, 0o755);

    expect(await dropforge(['jobs', 'list'])).toMatchObject({ code: 0, stdout: expect.stringContaining('one') });
    expect(await dropforge(['jobs', 'cancel', 'one'])).toMatchObject({ code: 0 });
    expect(await dropforge(['status'])).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringMatching(
        /^cloud +deployment in project test-project \(.*deployment\.json\)\n.*\nrunning +2 VMs, \$0\.38\/h now, 3 jobs not/s,
      ),
    });
    expect(cloud.requests).toEqual(['GET /v1/jobs', 'POST /v1/jobs/one:cancel', 'GET /v1/running']);
  });

  it('authenticates in GitHub Actions without a key, as the service account that Workload Identity Federation names', async () => {
    const api = await startAuthorizingProxy('token-of-ci');
    await describeDeployment({ api });
    const { environment, requests, federated } = await startFederation(api);

    expect(await dropforge(['jobs', 'list'], environment)).toEqual({
      code: 0,
      stdout: expect.stringContaining('one'),
      stderr: '',
    });
    // The account need not be allowed to create tokens of itself: the federated token asks.
    expect(requests).toEqual(['GitHub', 'STS github-token', `IAM ci@acme.iam.gserviceaccount.com federated ${api}`]);

    federated.isMember = false;
    expect(await dropforge(['jobs', 'list'], environment)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: No identity token of ci@acme\.iam.*roles\/iam\.workloadIdentityUser/),
    });
  });

  it('says which service account is missing if the credentials of a workload name none', async () => {
    const { environment } = await startFederation('http://127.0.0.1:1', {});
    await describeDeployment({ api: 'http://127.0.0.1:1' });
    expect(await dropforge(['jobs', 'list'], environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('name no service account'),
    });
  });

  it('prints how to log in if there are no credentials', async () => {
    const { code, stderr } = await dropforge(['jobs', 'describe', 'one']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: No Google Cloud credentials found: run `gcloud auth login`/);
    expect(cloud.requests).toEqual([]);
  });

  it('does not probe the network for credentials outside of Google Cloud', async () => {
    // Not set, as in a user's shell.
    const { stderr } = await dropforge(['jobs', 'list'], { METADATA_SERVER_DETECTION: '' });
    expect(stderr).not.toContain('Warning');
  });

  it.each([
    [401, 'requires authentication: run `gcloud auth application-default login`.'],
    [403, 'ask for a role such as roles/storage.objectUser on the bucket.'],
  ] as const)('prints a remedy if Cloud Storage returns %i', async (status, remedy) => {
    const storage = new Hono();
    storage.all('*', (context) => context.json({ error: { code: status, message: 'No.' } }, status));
    await describeDeployment({ storage: `http://${await serve(storage)}` });
    const { code, stderr } = await dropforge(['ls', 'gs://uploads/']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(remedy)]);
  });

  it('uploads packages to the bucket that intake and VMs can read, and submits', async () => {
    await mkdir(join(work, 'trainer'));
    await writeFile(join(work, 'trainer', '__init__.py'), '');
    await writeFile(join(work, 'trainer', 'task.py'), 'print(1)\n');
    cloud.onObject = ({ bucket, name }) => {
      if (name.endsWith('/job.yaml')) {
        const report = {
          source: `gs://${bucket}/${name}`,
          jobId: 'one',
          verdict: 'ACCEPTED',
          problems: [],
          warnings: [],
        };
        const text = JSON.stringify({ ...report, job: viewOf('one', { state: 'QUEUED' }) });
        void cloud.store.write({ bucket, name: `${name}.report.json` }, Buffer.from(text));
      }
    };
    const args = ['one', '--package-path=trainer', '--module-name=trainer.task', '--region=us-central1'];
    const { code, stdout } = await dropforge(['jobs', 'submit', 'training', ...args]);

    expect([code, stdout]).toEqual([0, expect.stringContaining('Job one ACCEPTED: QUEUED')]);
    const uploads = await cloud.store.list({ bucket: 'uploads', prefix: 'one/', countMax: 10 });
    expect(uploads.map(({ name }) => name)).toEqual([
      'one/job.yaml',
      'one/job.yaml.report.json',
      expect.stringMatching(/^one\/packages\/[0-9a-f]{64}\/trainer-0\.0\.0\.tar\.gz$/),
    ]);
    expect(await cloud.store.list({ bucket: 'jobs', prefix: '', countMax: 10 })).toEqual([]);
  });

  it.each([
    [['env'], /This command works only with an embedded cloud: remove --deployment/],
    [
      ['--deployment=nowhere.json', 'jobs', 'list'],
      /The deployment file .*nowhere\.json cannot be read\. Create it with: terraform/,
    ],
    [
      ['--deployment=wrong.json', 'jobs', 'list'],
      /wrong\.json is not a valid deployment file \(api: .*\)\. Create it with/,
    ],
    [['--deployment=text.json', 'jobs', 'list'], /text\.json is not a valid deployment file/],
    [
      ['--deployment=nowhere.json', 'jobs', 'validate', 'job.yaml'],
      /The deployment file .*nowhere\.json cannot be read/,
    ],
  ])('rejects %j with a remedy', async (args, message) => {
    await writeFile(join(work, 'wrong.json'), '{"projectId":"p","api":"ftp://x","uploadBucket":"u","jobsBucket":"j"}');
    await writeFile(join(work, 'text.json'), 'projectId = p');
    const { code, stderr } = await dropforge(args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
