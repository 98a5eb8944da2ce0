import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import type { Deployment } from '../../cli/client/deployment.ts';
import { startTestCloud, type TestCloud, viewOf } from '../support/cli/test-cloud.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

let cloud: TestCloud;
let work: string;
let file: string;
let servers: Server[];
/** What each request to the API showed. */
let shown: string[];

beforeEach(async () => {
  cloud = await startTestCloud();
  work = await mkdtemp(join(tmpdir(), 'dropforge-deployment-'));
  file = join(work, 'deployment.json');
  servers = [];
  shown = [];
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

/** Cloud Run before the API: it lets in who shows the right token, and answers others with a page. */
async function openFrontDoor(token: string): Promise<string> {
  const door = new Hono();
  door.all('*', (context) => {
    const given = context.req.header('authorization') ?? '';
    shown.push(given);
    const { pathname, search } = new URL(context.req.url);
    return given === `Bearer ${token}`
      ? fetch(`${cloud.endpoints.api}${pathname}${search}`, { method: context.req.method })
      : context.html('<html><title>403 Forbidden</title></html>', 403);
  });
  return `http://${await serve(door)}`;
}

async function describeDeployment(change: Partial<Deployment>): Promise<void> {
  const { projectId, api, storage } = cloud.endpoints;
  const places = { projectId, api, storage, uploadBucket: 'uploads', jobsBucket: 'jobs' };
  await writeFile(file, JSON.stringify({ ...places, ...change }));
}

/** The CLI as a process, on a machine where nobody is logged in but as the environment says. */
function dropforge(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = {
    PATH: join(work, 'bin'),
    HOME: work,
    CLOUDSDK_CONFIG: join(work, 'no-gcloud'),
    METADATA_SERVER_DETECTION: 'none',
    DROPFORGE_DEPLOYMENT: file,
    ...environment,
  };
  return new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    execFile(process.execPath, [CLI, ...words], { cwd: work, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** Google's own metadata server, as a machine on Google Cloud has it. */
async function openMetadataServer(): Promise<string> {
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

describe('the CLI on a deployment', () => {
  it('shows the API who asks: on Google Cloud as the machine’s own account, made out to the API', async () => {
    const audience = await openFrontDoor('to be replaced');
    const api = await openFrontDoor(`token-for-${audience}`);
    await describeDeployment({ api });
    const host = await openMetadataServer();
    const environment = { GCE_METADATA_HOST: host, METADATA_SERVER_DETECTION: 'assume-present' };

    const refused = await dropforge(['jobs', 'list'], environment);
    expect(shown).toEqual([`Bearer token-for-${api}`]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: `error: ${api} does not let you in (403): ask whoever operates it to name you in Terraform's api_access.members.\n`,
    });
  });

  it('asks gcloud for a person’s token', async () => {
    await describeDeployment({ api: await openFrontDoor('persons-token') });
    await mkdir(join(work, 'bin'));
    const gcloud = join(work, 'bin', 'gcloud');
    await writeFile(gcloud, '#!/bin/sh\n[ "$*" = "auth print-identity-token" ] && echo persons-token\n');
    await chmod(gcloud, 0o755);

    expect(await dropforge(['jobs', 'list'])).toMatchObject({ code: 0, stdout: expect.stringContaining('one') });
    expect(await dropforge(['jobs', 'cancel', 'one'])).toMatchObject({ code: 0 });
    expect(cloud.requests).toEqual(['GET /v1/jobs', 'POST /v1/jobs/one:cancel']);
  });

  it('says how to log in where nobody is', async () => {
    const { code, stderr } = await dropforge(['jobs', 'describe', 'one']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Nobody is logged in to Google Cloud here: run `gcloud auth login`/);
    expect(cloud.requests).toEqual([]);
  });

  it('asks no network for credentials on a machine that is none of Google', async () => {
    // As a user's shell has it: not set.
    const { stderr } = await dropforge(['jobs', 'list'], { METADATA_SERVER_DETECTION: '' });
    expect(stderr).not.toContain('Warning');
  });

  it.each([
    [401, 'asks who you are: run `gcloud auth application-default login`.'],
    [403, 'ask for a role such as roles/storage.objectUser on the bucket.'],
  ] as const)('says what is wanting where Cloud Storage answers %i', async (status, told) => {
    const storage = new Hono();
    storage.all('*', (context) => context.json({ error: { code: status, message: 'No.' } }, status));
    await describeDeployment({ storage: `http://${await serve(storage)}` });
    const { code, stderr } = await dropforge(['ls', 'gs://uploads/']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(told)]);
  });

  it('stages packages where intake and VMs may read them, and submits', async () => {
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
    const words = ['one', '--package-path=trainer', '--module-name=trainer.task', '--region=us-central1'];
    const { code, stdout } = await dropforge(['jobs', 'submit', 'training', ...words]);

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
    [['status'], /Only an embedded cloud has this: leave out --deployment/],
    [
      ['--deployment=nowhere.json', 'jobs', 'list'],
      /The deployment .*nowhere\.json cannot be read\. Write it with: terraform/,
    ],
    [['--deployment=wrong.json', 'jobs', 'list'], /wrong\.json describes no deployment \(api: .*\)\. Write it with/],
    [['--deployment=text.json', 'jobs', 'list'], /text\.json describes no deployment/],
  ])('refuses %j with what to do', async (words, told) => {
    await writeFile(join(work, 'wrong.json'), '{"projectId":"p","api":"ftp://x","uploadBucket":"u","jobsBucket":"j"}');
    await writeFile(join(work, 'text.json'), 'projectId = p');
    const { code, stderr } = await dropforge(words);
    expect([code, stderr]).toEqual([1, expect.stringMatching(told)]);
  });

  it('is left alone by commands that start an embedded cloud or need none', async () => {
    await writeFile(join(work, 'job.yaml'), 'trainingInput: {scaleTier: BASIC, pythonModule: a.b}\n');
    expect((await dropforge(['jobs', 'validate', 'job.yaml'], { DROPFORGE_DEPLOYMENT: 'nowhere.json' })).code).toBe(0);
  });
});
