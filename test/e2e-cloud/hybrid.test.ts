import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { flexStartFile, jobFile, packFiles, packProgram, until } from '../support/e2e/cloud-under-test.ts';
import { type HybridCloud, startHybridCloud } from '../support/e2e/hybrid-cloud.ts';
import { type Rule, startGoogleUnderTest } from '../support/first-deployment/google-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import type { LogEntry } from '../support/logging/logging-query.ts';
import { fieldsByKind, readRecordedLines } from '../support/logging/recorded-log.ts';
import { startWebhookServer } from '../support/notifications/webhook-server.ts';

const run = promisify(execFile);

const TRAINS = `
import json, os, sys
with open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'model.json'), 'w') as file:
    json.dump({'args': sys.argv[1:], 'job': os.environ['CLOUD_ML_JOB_ID']}, file)
print('trained', flush=True)
`;

import { leaveOut } from '../support/run/leave-out.ts';

/** Deletions are retried after a minute, as in production (`TIMEOUTS.teardownMs`). */
const JOB_MS_MAX = 150_000;
/** About 60 commands, one after the other, on a busy machine. */
const ROWS_MS_MAX = 480_000;

const hosts = inject('emulatorHosts');

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'Dropforge as it is deployed');
} else {
  describe('Dropforge as it is deployed', () => {
    let cloud: HybridCloud;

    beforeAll(async () => {
      cloud = await startHybridCloud(hosts);
    });
    afterAll(() => cloud.stop());

    const untilVmsAreGone = () => until('no VM', async () => ((await cloud.listVms()).length === 0 ? true : undefined));

    const untilLogged = (jobId: string, text: string) =>
      until(`"${text}"`, async () => (await cloud.readLog(jobId)).find((line) => line.text.includes(text)));

    it('runs an uploaded package, saves its model and deletes its VM', async () => {
      await uploadAsUser(cloud, 'trained.tar.gz', await packProgram(TRAINS, jobFile('trained', { args: ['--x=1'] })));

      expect(await cloud.awaitJob('trained', undefined, JOB_MS_MAX)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
      const model = JSON.parse((await cloud.readObject(cloud.endpoints.jobsBucket, 'trained/model.json')) ?? 'null');
      expect(model).toMatchObject({ job: 'trained', args: ['--x=1'] });
      await untilLogged('trained', 'trained');
      await untilVmsAreGone();
    });

    it('logs the upload of a job and a malformed message about it as lines of one trace', async () => {
      await cloud.publish('dropforge-provision', { type: 'PROVISION', jobId: 'trained', attempt: 'first' });

      const untilWritten = (field: string, value: string) =>
        until(value, async () =>
          linesOf(cloud.log).find(
            (line) => Object(line['logging.googleapis.com/labels']).job_id === 'trained' && line[field] === value,
          ),
        );
      const upload = await untilWritten('kind', 'verdict');
      const malformed = await untilWritten('message', 'message is malformed');
      expect(malformed).toMatchObject({
        ...{ severity: 'ERROR', topic: 'provision', messageId: expect.any(String), problem: expect.any(String) },
        serviceContext: { service: 'provision', version: expect.stringMatching(/^[0-9a-f]{64}$/) },
        'logging.googleapis.com/labels': { job_id: 'trained', execution_id: expect.any(String) },
        'logging.googleapis.com/trace': upload['logging.googleapis.com/trace'],
      });
    });

    it('notifies a channel of a job, with a signature, and answers a test of the CLI', async () => {
      const webhook = await startWebhookServer();
      cloud.storeSecret('hook-url', `${webhook.url}/hook`);
      cloud.storeSecret('hook-key', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
      await cloud.upload('notified.tar.gz', await packProgram(TRAINS, jobFile('notified')));
      await cloud.awaitJob('notified', undefined, JOB_MS_MAX);

      const { headers, body } = await until('the message', async () =>
        webhook.received.find((one) => one.body.includes('notified SUCCEEDED')),
      );
      expect(headers['webhook-id']).toBe('notified-1-SUCCEEDED-hook');
      expect(headers['webhook-signature']).toMatch(/^v1,/);
      expect(JSON.parse(body)).toMatchObject({
        data: { job: { costUsd: expect.any(Number), links: { page: `${cloud.endpoints.api}/jobs/notified` } } },
      });
      const test = await fetch(`${cloud.endpoints.api}/v1/notifications:test`, { method: 'POST' });
      const { tests } = (await test.json()) as { tests: readonly { notificationId: string }[] };
      const outcome = await until('the outcome of the test', async () => {
        const found = await fetch(`${cloud.endpoints.api}/v1/notifications/${tests[0]?.notificationId}`);
        return found.ok ? found.json() : undefined;
      });
      expect(outcome).toMatchObject({ channel: 'hook', outcome: 'SENT', status: 200 });
      await webhook.close();
      await untilVmsAreGone();
    });

    it('does not disclose tokens of a VM or secrets in a package', async () => {
      const secret = 'k3Jq8Vw2Zr6Tn1Xb9Lm4';
      const files = {
        'pkg/setup.py': "from setuptools import setup\nsetup(name='pkg', version='1', packages=['trainer'])\n",
        'pkg/trainer/__init__.py': '',
        'pkg/trainer/task.py': 'import os\nprint(sorted(os.environ.items()), flush=True)\n',
        'pkg/job.json': JSON.stringify(jobFile('discreet')),
        'pkg/.env': `API_TOKEN=${secret}\n`,
      };
      await cloud.upload('discreet.tar.gz', await packFiles(files));
      const running = await cloud.awaitJob('discreet', ({ replicas }) => replicas.length > 0, JOB_MS_MAX);
      const job = await cloud.awaitJob('discreet', undefined, JOB_MS_MAX);
      await untilLogged('discreet', 'CLOUD_ML_JOB_ID');

      const visible = [
        running,
        job,
        await cloud.readLog('discreet'),
        await cloud.awaitReport('discreet.tar.gz.report.json'),
      ];
      const text = `${JSON.stringify(visible)}${cloud.log.join('')}`;

      expect(job).toMatchObject({ state: 'SUCCEEDED' });
      expect(text).toContain('CREDENTIALS_IN_PACKAGE');
      expect(text).not.toContain(secret);
      // The first two of a JWT's three base64url parts start with eyJ; Google's access tokens start with ya29.
      expect(text).not.toMatch(/eyJ[\w-]{8,}\.eyJ|ya29\.|Bearer [\w-]{8,}/);
    });

    it('rejects a job whose secret does not exist, which Secret Manager was asked for', async () => {
      const file = 'name: keyless\nmodule: trainer.task\nsecrets: {HF_TOKEN: no-such-secret}\n';
      await cloud.upload('keyless.tar.gz', await packFiles({ 'trainer/task.py': '', 'job.yaml': file }));
      const { verdict, problems } = await cloud.awaitReport('keyless.tar.gz.report.json');
      expect({ verdict, problems }).toMatchObject({
        verdict: 'REFUSED',
        problems: [{ code: 'SECRET_MISSING', remedy: expect.stringContaining("Terraform's variable secrets") }],
      });
    });

    it('rejects an invalid job file with a report beside the upload', async () => {
      await cloud.upload('refused.json', JSON.stringify(jobFile('refused', { region: 'mars' })));

      expect(await cloud.awaitReport('refused.json.report.json')).toMatchObject({
        verdict: 'REFUSED',
        problems: expect.arrayContaining([expect.objectContaining({ code: 'UNKNOWN_REGION' })]),
      });
    });

    it('fails a job whose program fails, with its last lines of output as evidence', async () => {
      await cloud.upload('broken.tar.gz', await packProgram('raise ValueError("no data")\n', jobFile('broken')));

      const job = await cloud.awaitJob('broken', undefined, JOB_MS_MAX);

      expect(job).toMatchObject({ state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
      expect(job.cause?.evidence.join('\n')).toContain('ValueError: no data');
      await untilVmsAreGone();
    });

    it('cancels a job by a message on the control topic', async () => {
      await cloud.upload('cancelled.tar.gz', await packProgram('import time\ntime.sleep(600)\n', jobFile('cancelled')));
      await cloud.awaitJob('cancelled', ({ state }) => state === 'RUNNING');

      await cloud.publish('dropforge-control', { command: 'cancel', jobId: 'cancelled' });

      expect(await cloud.awaitJob('cancelled', undefined, JOB_MS_MAX)).toMatchObject({ state: 'CANCELLED' });
      await untilVmsAreGone();
    });

    it(
      'performs every row of the first deployment with the commands of an operator, and prints what each showed',
      async () => {
        const { projectId, pubsub } = cloud.endpoints;
        const webhook = await startWebhookServer();
        // The wait of the tool, but without its pauses of 10 s.
        const shorten: Rule = [
          /^gcloud pubsub subscriptions update (\S+) .*--max-delivery-attempts=5 --min-retry-delay=10s/,
          async ([, name]) => {
            const retryPolicy = { minimumBackoff: '0.1s', maximumBackoff: '0.2s' };
            const response = await fetch(`${pubsub}/v1/projects/${projectId}/subscriptions/${name}`, {
              method: 'PATCH',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ subscription: { retryPolicy }, updateMask: 'retryPolicy' }),
            });
            return response.text();
          },
        ];
        const google = await startGoogleUnderTest(cloud, [shorten]);

        const { status, output } = await google.run(['--yes', `--webhook=${webhook.url}/hook`]);

        const results = [...output.matchAll(/^\| (?!row|-)(\S+) \| (\w+) \|.*\| (\S*) \|$/gm)].map(
          ([, ...cells]) => cells,
        );
        expect(results, output).toEqual([
          ['apply', 'passed', ''],
          ['notification', 'passed', ''],
          ['train', 'passed', expect.stringMatching(/^<?\$0\.00/)],
          ['preempt', 'passed', expect.stringMatching(/^<?\$0\.00/)],
          ['resume', 'passed', ''],
          ['cancel', 'passed', ''],
          ['dead-letter', 'passed', ''],
          ['destroy', 'passed', ''],
        ]);
        expect(status).toBe(0);
        await google.close();
        await webhook.close();
      },
      ROWS_MS_MAX,
    );

    it('logs lines of the form on which queries and filters of the deployment are tested', () => {
      const written = fieldsByKind(linesOf(cloud.log));
      const recorded = fieldsByKind(readRecordedLines());
      const always = fieldsByKind(readRecordedLines('job'));
      for (const [kind, fields] of written) {
        expect([...(recorded.get(kind) ?? fields)], kind).toEqual(expect.arrayContaining([...fields]));
        expect([...fields], kind).toEqual(expect.arrayContaining([...(always.get(kind) ?? [])]));
      }
      expect([...written.keys()]).toEqual(expect.arrayContaining([...always.keys(), 'usage ', 'error ']));
    });

    it('keeps a Flex-start job waiting for capacity, unbilled, and runs it when there is capacity', async () => {
      const zones = ['a', 'b', 'c', 'f'].map((letter) => `us-central1-${letter}`);
      await Promise.all(zones.map((zone) => cloud.act(`/zones/${zone}:stockout`)));
      await cloud.upload('waiting.tar.gz', await packProgram(TRAINS, flexStartFile('waiting')));
      const pending = await cloud.awaitJob('waiting', ({ waitingFor }) => waitingFor !== null);
      expect(pending).toMatchObject({
        state: 'QUEUED',
        waitingFor: { code: 'CAPACITY_PENDING' },
        price: { billedSeconds: 0 },
      });
      expect(await cloud.listVms()).toMatchObject([{ jobId: 'waiting', status: 'PENDING' }]);

      await Promise.all(zones.map((zone) => cloud.act(`/zones/${zone}:restock`)));
      expect(await cloud.awaitJob('waiting', undefined, JOB_MS_MAX)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
      await untilVmsAreGone();
    });
  });
}

/** Uploads with gcloud if it is installed, otherwise through the API. */
async function uploadAsUser(cloud: HybridCloud, name: string, bytes: Uint8Array): Promise<void> {
  if (findGcloudVersion() === undefined) {
    await cloud.upload(name, bytes);
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-user-'));
  const { storage, uploadBucket, projectId } = cloud.endpoints;
  await writeFile(join(directory, name), bytes);
  await run('gcloud', ['storage', 'cp', join(directory, name), `gs://${uploadBucket}/`, '--quiet'], {
    env: {
      ...process.env,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${storage}/storage/v1/`,
      CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
      CLOUDSDK_CORE_PROJECT: projectId,
    },
  });
  await rm(directory, { recursive: true });
}

/** The structured lines of all functions. A function's output comes in parts, of which most are whole lines. */
function linesOf(log: readonly string[]): readonly LogEntry[] {
  const parts = log.flatMap((text) => text.split('\n')).map((text) => text.replace(/^[a-z-]+: (?=\{)/, ''));
  return parts.filter((text) => /^\{.*\}$/.test(text)).map((text) => JSON.parse(text) as LogEntry);
}
