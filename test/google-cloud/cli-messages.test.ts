import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Message, PubSub } from '@google-cloud/pubsub';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';
import type { Deployment } from '../../cli/client/deployment.ts';
import { startTestCloud, type TestCloud, viewOf } from '../support/cli/test-cloud.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

const hosts = inject('emulatorHosts');

let cloud: TestCloud;
let pubsub: PubSub;
let projectId: string;
let work: string;
let children: ChildProcess[];

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'the CLI and Pub/Sub');
} else {
  beforeEach(() => open(hosts.pubsub));
  afterEach(close);
  describe('the CLI and Pub/Sub', describeMessages);
}

async function open(host: string): Promise<void> {
  projectId = `test-${randomUUID()}`;
  cloud = await startTestCloud();
  pubsub = new PubSub({ projectId, apiEndpoint: host, emulatorMode: true });
  await pubsub.createTopic('dropforge-submit');
  work = await mkdtemp(join(tmpdir(), 'dropforge-messages-'));
  children = [];
  await writeFile(join(work, 'gcloud'), '#!/bin/sh\necho token\n');
  await chmod(join(work, 'gcloud'), 0o755);
  await describeDeployment({ pubsub: `http://${host}` });
}

async function close(): Promise<void> {
  for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await pubsub.close();
  await cloud.close();
  await rm(work, { recursive: true });
}

async function describeDeployment(change: Partial<Deployment>): Promise<void> {
  const { api, storage } = cloud.endpoints;
  const submitTopic = `projects/${projectId}/topics/dropforge-submit`;
  const places = { projectId, api, storage, uploadBucket: 'uploads', jobsBucket: 'jobs', submitTopic };
  await writeFile(join(work, 'deployment.json'), JSON.stringify({ ...places, ...change }));
}

function dropforge(words: readonly string[]) {
  const child = spawn(process.execPath, [CLI, '--deployment=deployment.json', ...words], {
    cwd: work,
    env: { PATH: `${work}:/bin:/usr/bin`, HOME: work, CLOUDSDK_CONFIG: work, METADATA_SERVER_DETECTION: 'none' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { child, ended: ended.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code: Number(code) })) };
}

/** Receives job files in place of the function on-submit, and accepts each job. */
async function acceptSubmissions(): Promise<readonly string[]> {
  const received: string[] = [];
  const [subscription] = await pubsub.topic('dropforge-submit').createSubscription('on-submit');
  subscription.on('message', (message: Message) => {
    received.push(message.data.toString());
    message.ack();
    const source = `pubsub://submit/${message.id}`;
    const job = viewOf('one', { state: 'QUEUED' });
    const report = { source, jobId: 'one', verdict: 'ACCEPTED', problems: [], warnings: [], job };
    const name = `submitted/${message.id}.report.json`;
    void cloud.store.write({ bucket: 'uploads', name }, Buffer.from(JSON.stringify(report)));
  });
  return received;
}

async function writeJobFile(): Promise<void> {
  const program = { packageUris: ['gs://uploads/trainer.tar.gz'], pythonModule: 'trainer.task' };
  const input = { ...program, region: 'us-central1', scaleTier: 'BASIC' };
  await writeFile(join(work, 'job.json'), JSON.stringify({ jobId: 'one', trainingInput: input }));
}

function describeMessages() {
  it('submits by a message on the submit topic, without a file in the upload bucket', async () => {
    const received = await acceptSubmissions();
    await writeJobFile();
    const { stdout, stderr, code } = await dropforge(['jobs', 'submit', 'training', 'one', '--config=job.json']).ended;

    expect([code, stderr, stdout]).toEqual([
      0,
      expect.stringMatching(/^Price .*\n$/),
      expect.stringContaining('Job one ACCEPTED: QUEUED'),
    ]);
    expect(received).toEqual([expect.stringContaining('gs://uploads/trainer.tar.gz')]);
    const uploads = await cloud.store.list({ bucket: 'uploads', prefix: '', countMax: 10 });
    expect(uploads.map(({ name }) => name)).toEqual([expect.stringMatching(/^submitted\/\d+\.report\.json$/)]);
  });

  it('appends the time to a display name whose job exists in the API but not in the upload bucket', async () => {
    await acceptSubmissions();
    cloud.jobs.set('Run_1', [viewOf('Run_1')]);
    const pool = 'machine-type=n1-standard-4,replica-count=1,python-module=trainer.task';
    const flags = ['--region=us-central1', '--display-name=Run 1', '--python-package-uris=gs://uploads/trainer.tar.gz'];
    const image = 'executor-image-uri=us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest';
    const args = ['custom-jobs', 'create', ...flags, `--worker-pool-spec=${pool},${image}`];
    const { stderr } = await dropforge(args).ended;

    expect(stderr).toMatch(/^Job Run_1 already exists: this one is submitted as Run_1_\d{6}_\d{6}\.$/m);
  });

  it('submits through the upload bucket if the deployment has no submit topic', async () => {
    await describeDeployment({ submitTopic: null });
    const uploaded = Promise.withResolvers<string>();
    cloud.onObject = ({ name }) => uploaded.resolve(name);
    await writeJobFile();
    const { child } = dropforge(['jobs', 'submit', 'training', 'one', '--config=job.json']);

    expect(await uploaded.promise).toBe('one/job.yaml');
    child.kill();
  });

  it('prints a remedy if the submit topic does not exist', async () => {
    await pubsub.topic('dropforge-submit').delete();
    await writeJobFile();
    const { stderr, code } = await dropforge(['jobs', 'submit', 'training', 'one', '--config=job.json']).ended;

    const topic = `projects/${projectId}/topics/dropforge-submit`;
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `error: The topic ${topic} does not exist (404): run \`terraform apply\`, then write the deployment file again.\ncloud: `,
      ),
    ]);
  });

  it('prints who grants the missing permission to publish', async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 403, status: 'PERMISSION_DENIED', message: 'No.' } }));
    });
    await describeDeployment({ pubsub: `http://${HOST}:${await listen(server, 0)}` });
    await writeJobFile();
    const { stderr, code } = await dropforge(['jobs', 'submit', 'training', 'one', '--config=job.json']).ended;
    await closeServer(server);

    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `error: You are not allowed to publish to projects/${projectId}/topics/dropforge-submit (403): ` +
          'ask the operator of the deployment to add you to submitters (roles/pubsub.publisher on the topic).\ncloud: ',
      ),
    ]);
  });
}
