import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signWebhook } from '#shared/use-cases/notify/sign-webhook.ts';

const run = promisify(execFile);

const KEY = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const BODY = '{"type":"job.failed","data":{"title":"digits é FAILED"}}';
const NOW_SECONDS = Math.floor(Date.now() / 1_000);

const HEADERS = signWebhook(KEY, { id: 'digits-1-FAILED-hook', body: BODY, timestampSeconds: NOW_SECONDS });

/** The answers of a receiver that copied the example, for the message as sent and for forged ones. */
const CASES: readonly (readonly [
  string,
  boolean,
  { readonly headers?: object; readonly body?: string; readonly key?: string },
])[] = [
  ['accepts a message of Dropforge', true, {}],
  [
    'accepts it while a key is replaced, with two signatures',
    true,
    { headers: { 'webhook-signature': `v1,AAAA ${HEADERS['webhook-signature']}` } },
  ],
  ['rejects another body', false, { body: BODY.replace('FAILED', 'SUCCEEDED') }],
  ['rejects another id', false, { headers: { 'webhook-id': 'other' } }],
  ['rejects another key', false, { key: `whsec_${Buffer.from('another').toString('base64')}` }],
  [
    'rejects a message of an hour ago',
    false,
    { headers: signWebhook(KEY, { id: 'a', body: BODY, timestampSeconds: NOW_SECONDS - 3_600 }) },
  ],
];

const EXAMPLES = [
  {
    language: 'python',
    command: 'python3',
    file: 'verify.py',
    call: 'import json, sys\ncase = json.loads(sys.argv[1])\nprint(json.dumps(verify(case["key"], case["headers"], case["body"].encode())))',
  },
  {
    language: 'js',
    command: process.execPath,
    file: 'verify.mjs',
    call: 'const { key, headers, body } = JSON.parse(process.argv[2]);\nconsole.log(verify(key, headers, Buffer.from(body)));',
  },
] as const;

describe.each(EXAMPLES)(
  'the verification in $language of docs/notifications.md',
  ({ language, command, file, call }) => {
    let folder: string;
    beforeAll(async () => {
      const page = await readFile(new URL('../../docs/notifications.md', import.meta.url), 'utf8');
      const [, example] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page) ?? [];
      folder = await mkdtemp(join(tmpdir(), 'dropforge-verify-'));
      await writeFile(join(folder, file), `${example}\n${call}\n`);
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it.each(CASES)('%s', async (__, isAccepted, { headers, body = BODY, key = KEY }) => {
      const given = JSON.stringify({ key, body, headers: { ...HEADERS, ...headers } });
      const { stdout } = await run(command, [join(folder, file), given]);
      expect(JSON.parse(stdout)).toBe(isAccepted);
    });
  },
);
