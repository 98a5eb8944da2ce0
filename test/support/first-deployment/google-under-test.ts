import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROWS } from '#infra/tools/first-deployment/rows.ts';
import { runFirstDeployment, type Settings } from '#infra/tools/first-deployment/run-first-deployment.ts';
import { startFakeCommands } from './fake-commands.ts';

export const PROJECT = 'first-project';
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DEPLOYED = ['first-project-dropforge-uploads', 'first-project-dropforge-jobs'];

/** The cloud on this machine that answers for Google. */
type Cloud = {
  readonly endpoints: {
    readonly projectId: string;
    readonly api: string;
    readonly storage: string;
    readonly pubsub: string;
    readonly secretManager?: string;
    readonly uploadBucket: string;
    readonly jobsBucket: string;
  };
  readonly log: readonly string[];
  act(path: string): Promise<Response>;
  publish(topic: string, data: string): Promise<string>;
  listVms(): Promise<readonly { readonly vmName: string }[]>;
};

/** A rule for calls whose command line the pattern matches; the last one of a test wins. */
export type Rule = readonly [
  pattern: RegExp,
  answer: (match: RegExpExecArray, input: string) => string | Promise<string>,
];

/** `npm run first-deployment` with gcloud and Terraform that a cloud on this machine answers for. */
export async function startGoogleUnderTest(cloud: Cloud, rules: readonly Rule[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-first-'));
  const known = [...rules, ...rulesOf(cloud)];
  const commands = await startFakeCommands(join(folder, 'bin'), async ({ command, input }) => {
    for (const [pattern, answer] of known) {
      const match = pattern.exec(command);
      if (match !== null) {
        return answer(match, input);
      }
    }
    throw new Error(`ERROR: nothing is recorded for: ${command}`);
  });
  const environment = {
    ...process.env,
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
    METADATA_SERVER_DETECTION: 'none',
  };
  return {
    folder,
    environment,
    calls: commands.calls,
    listFolder: () => readdir(join(folder, '.first-deployment', PROJECT)),
    async run(args: readonly string[], changes: Partial<Settings> = {}) {
      let output = '';
      const status = await runFirstDeployment([`--project=${PROJECT}`, ...args], {
        ...{ root: ROOT, folders: join(folder, '.first-deployment'), environment, rows: ROWS, pollMs: 800 },
        write: (text) => {
          output += text;
        },
        confirm: async () => false,
        interrupted: new AbortController().signal,
        ...changes,
      });
      return { status, output };
    },
    async close() {
      await commands.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Recorded answers, and what the cloud on this machine does instead of Google. */
function rulesOf(cloud: Cloud): readonly Rule[] {
  const { projectId, api, storage, pubsub, secretManager, uploadBucket, jobsBucket } = cloud.endpoints;
  const submitTopic = `projects/${projectId}/topics/dropforge-submit`;
  const deployment = { projectId, api, storage, pubsub, uploadBucket, jobsBucket, submitTopic };
  let isApplied = false;
  return [
    [/^terraform .* init /, () => 'Terraform has been successfully initialized!\n'],
    [
      /^terraform .* (apply|destroy) /,
      ([, action]) => {
        isApplied = action === 'apply';
        return isApplied ? 'Apply complete!\n' : 'Destroy complete!\n';
      },
    ],
    [/^terraform .* output -json deployment/, () => JSON.stringify(deployment)],
    [/^gcloud storage buckets list /, () => (isApplied ? `${DEPLOYED.join('\n')}\n` : '')],
    [/^gcloud compute networks list /, () => (isApplied ? 'dropforge\n' : '')],
    [
      /^gcloud compute instances list /,
      async () => (await cloud.listVms()).map(({ vmName }) => `${vmName}\tus-central1-a\n`).join(''),
    ],
    [
      /^gcloud compute instances simulate-maintenance-event (\S+) /,
      async ([, vmName]) => {
        await cloud.act(`/vms/${vmName}:preempt`);
        return '';
      },
    ],
    [
      /^gcloud secrets versions add (\S+) --data-file=- /,
      async ([, name], input) => {
        const secrets = `${secretManager}/v1/projects/${projectId}/secrets`;
        const send = (url: string, body: object) =>
          fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
        await send(`${secrets}?secretId=${name}`, { replication: { automatic: {} } });
        const added = await send(`${secrets}/${name}:addVersion`, {
          payload: { data: Buffer.from(input).toString('base64') },
        });
        return added.text();
      },
    ],
    [/^gcloud pubsub subscriptions update dropforge-control /, () => 'Updated subscription.\n'],
    [
      /^gcloud pubsub topics publish (\S+) --message=(\S+) /,
      async ([, topic = '', message = '']) => `messageIds:\n- '${await cloud.publish(topic, message)}'\n`,
    ],
    [/^gcloud logging read /, () => readDeadLetters(cloud.log)],
  ];
}

/** The lines of on-dead-letter, as `--format=value(jsonPayload.topic,…)` prints them. */
function readDeadLetters(log: readonly string[]): string {
  const lines = log.join('').match(/\{.*"message exhausted its deliveries".*\}/g) ?? [];
  return lines
    .map((line) => JSON.parse(line) as { topic: string; tries: string; messageId: string })
    .map(({ topic, tries, messageId }) => `${topic}\t${tries}\t${messageId}\n`)
    .join('');
}
