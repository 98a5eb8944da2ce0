import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { describeJob, describeRefusal } from '#shared/use-cases/notify/describe-job.ts';
import { writeRequest } from '#shared/use-cases/notify/write-request.ts';
import { viewOf } from '../../../support/cli/test-cloud.ts';

const CHANNELS = notificationChannelsSchema.parse({
  slack: { kind: 'slack', secret: 's' },
  teams: { kind: 'teams', secret: 's' },
  discord: { kind: 'discord', secret: 's' },
  chat: { kind: 'google-chat', secret: 's' },
  webhook: { kind: 'webhook', secret: 's', signingSecret: 'k' },
  mail: { kind: 'email', secret: 's', from: 'a@example.com', to: ['b@example.com'] },
});

const HOSTILE =
  '<!channel> @everyone <@U1> **bold** [link](https://evil.example) <a href="x">&amp; \u001b[31m\u202e\r\nBcc: x';

/** The request that is sent about a job whose texts a program and a user have written. */
function written(channel: string, text: string): string {
  const cause = { code: 'PROGRAM_FAILED', class: 'user', message: text, remedy: text, evidence: [text] };
  const view = viewOf('digits', {
    state: 'FAILED',
    cause: { ...cause, label: null, canRetryHelp: null, rootLine: null, link: null },
  });
  return bodyOf(channel, describeJob(view, { state: 'FAILED', pageUrl: 'https://page.example', update: {} }));
}

function bodyOf(channel: string, content: ReturnType<typeof describeJob>): string {
  const settings = CHANNELS[channel];
  if (settings === undefined) {
    throw new Error(`There is no channel ${channel}.`);
  }
  const notification = { notificationId: 'digits-1-FAILED-x', ...content };
  const secrets = { address: 'https://hooks.example/secret\n', signingKey: `whsec_${btoa('key')}` };
  const result = writeRequest(settings, secrets, { notification, now: 1_700_000_000_000 });
  return result.kind === 'MAIL' ? `${result.mail.subject}\n\n${result.mail.text}` : result.request.body;
}

describe.each(Object.keys(CHANNELS))('a message for %s', (channel) => {
  it('says what happened, how long it took, what to do, and where to read more', () => {
    const text = written(channel, 'Out of memory.');
    for (const part of ['digits FAILED', '1 min', 'Out of memory.', 'What to do']) {
      expect(channel === 'webhook' && part !== 'digits FAILED' ? part : text).toContain(part);
    }
  });

  it('has no control characters and no characters that change the direction of the text', () => {
    const text = written(channel, HOSTILE);
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}/u);
    expect(text).not.toMatch(/\\u001b|\\u202e|\\r/);
  });

  it('stays small if a program writes a megabyte', () => {
    expect(Buffer.byteLength(written(channel, '"<é'.repeat(350_000)))).toBeLessThan(20_000);
  });
});

describe('the limits of the services', () => {
  /** A job with the longest texts: everything that a user, a program or a machine can write is hostile. */
  const worst = (channel: string, text: string) => {
    const finding = { code: 'X', message: text, remedy: text };
    const cause = { code: 'PROGRAM_FAILED', class: 'user', message: text, remedy: text, evidence: [text] };
    const replica = {
      replica: 'master-0',
      metrics: Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`${text}${n}`, n])),
    };
    const view = viewOf('digits', {
      state: 'FAILED',
      attempt: 99,
      cause: { ...cause, label: text, canRetryHelp: null, rootLine: null, link: null },
      warnings: [finding, finding, finding],
      jobDir: `gs://${text}`,
      machines: [{ count: 1, machineType: text, accelerator: text }],
      replicas: [replica],
    } as unknown as Parameters<typeof viewOf>[1]);
    return bodyOf(channel, describeJob(view, { state: 'FAILED', pageUrl: 'https://page.example', update: {} }));
  };
  const TEXTS = ['<'.repeat(5_000), '_'.repeat(5_000), '語'.repeat(5_000), `a${'😀'.repeat(5_000)}`];

  it.each([
    ['teams', 28_000],
    ['chat', 32_000],
  ])('of %s are kept: %i bytes', (channel, bytesMax) => {
    for (const text of TEXTS) {
      expect(Buffer.byteLength(worst(channel, text))).toBeLessThan(bytesMax);
    }
  });

  it('of Discord are kept: 6,000 characters in all, and none of them is half a character', () => {
    for (const text of TEXTS) {
      const [embed] = JSON.parse(worst('discord', text)).embeds;
      const { title, description, fields } = embed as Record<'title' | 'description', string> & {
        readonly fields: readonly { readonly name: string; readonly value: string }[];
      };
      const all = [title, description, ...fields.flatMap(({ name, value }) => [name, value])].join('');
      expect(all.length).toBeLessThanOrEqual(6_000);
      expect(all.isWellFormed()).toBe(true);
      expect(fields.every(({ value }) => value.length > 0 && value.length <= 1_024)).toBe(true);
    }
  });

  it('of Slack are kept: 150 characters in a header, 2,000 in a field, 3,000 and at least one in a section', () => {
    for (const text of [...TEXTS, '', '\u202e']) {
      const { blocks } = JSON.parse(worst('slack', text)) as {
        readonly blocks: readonly { type: string; text?: { text: string }; fields?: readonly { text: string }[] }[];
      };
      expect(blocks.length).toBeLessThanOrEqual(50);
      for (const { type, text: shown, fields = [] } of blocks) {
        expect(shown?.text.length ?? 1).toBeLessThanOrEqual(type === 'header' ? 150 : 3_000);
        expect([shown?.text ?? 'x', ...fields.map((field) => field.text)]).not.toContain('');
        expect(fields.every((field) => field.text.length <= 2_000)).toBe(true);
      }
    }
  });

  it('hold for the title of an upload whose name has characters of two units', () => {
    const source = `gs://uploads/${'😀'.repeat(300)}.json`;
    const refused = {
      type: 'UPLOAD_REFUSED',
      schemaVersion: 1,
      uploadId: 'u',
      jobId: null,
      state: 'REFUSED',
      source,
    } as const;
    const content = describeRefusal({ ...refused, report: 'gs://u/r.json', problems: [], problemCount: 1 });
    for (const channel of Object.keys(CHANNELS)) {
      expect(bodyOf(channel, content)).not.toMatch(/\\ud[89a-f]/i);
    }
    expect(JSON.parse(bodyOf('slack', content)).blocks[0].text.text.length).toBeLessThanOrEqual(150);
  });
});

describe('what a program writes', () => {
  it('has no mention and no link in Slack: it is plain text, and escaped elsewhere', () => {
    const body = JSON.parse(written('slack', HOSTILE));
    const texts = body.blocks.flatMap((block: Record<string, never>) => [block.text, ...(block.fields ?? [])]);
    expect(new Set(texts.filter(Boolean).map(({ type }: { type: string }) => type))).toEqual(new Set(['plain_text']));
    expect(body.text).not.toMatch(/[<>]/);
  });

  it('has no markup in Teams: it is in text runs only', () => {
    const { body } = JSON.parse(written('teams', HOSTILE)).attachments[0].content;
    expect(new Set(body.map(({ type }: { type: string }) => type))).toEqual(new Set(['RichTextBlock']));
  });

  it('has every character of Discord’s Markdown escaped, and no kind of mention is allowed', () => {
    const { allowed_mentions: mentions, embeds } = JSON.parse(written('discord', HOSTILE));
    expect(mentions).toEqual({ parse: [] });
    expect(embeds[0].description).not.toMatch(/(?<!\\)[*_<@[\]()>]/);
    expect(embeds[0].description.length).toBeLessThanOrEqual(2_000);
  });

  it('is escaped in the HTML of Google Chat', () => {
    expect(written('chat', HOSTILE)).not.toMatch(/<[a-z!@]/i);
  });

  it('is one line in the subject of a mail', () => {
    const [subject] = written('mail', HOSTILE).split('\n\n');
    expect(subject).toBe('[Dropforge] digits FAILED');
  });
});

it('a webhook is signed over id, time and body, and its address is used without the newline of the secret', () => {
  const { webhook } = CHANNELS;
  if (webhook === undefined) {
    throw new Error('There is no channel.');
  }
  const content = describeJob(viewOf('digits'), {
    state: 'SUCCEEDED',
    pageUrl: undefined,
    update: { jobId: 'digits' },
  });
  const result = writeRequest(
    webhook,
    { address: 'https://hooks.example/x\n', signingKey: `whsec_${btoa('key')}\n` },
    { notification: { notificationId: 'digits-1-SUCCEEDED-x', ...content }, now: 1_700_000_000_999 },
  );
  expect(result).toMatchObject({ kind: 'POST', request: { url: 'https://hooks.example/x' } });
  const { headers, body } = Object(result).request;
  const signed = createHmac('sha256', 'key').update(`digits-1-SUCCEEDED-x.1700000000.${body}`).digest('base64');
  expect(headers).toMatchObject({ 'webhook-timestamp': '1700000000', 'webhook-signature': `v1,${signed}` });
  expect(JSON.parse(body)).toMatchObject({
    type: 'job.succeeded',
    data: { jobId: 'digits', title: 'digits SUCCEEDED' },
  });
});

it('without an address of the page, a message names the command that shows the job, and has no link', () => {
  const content = (pageUrl: string | undefined) =>
    describeJob(viewOf('digits'), { state: 'FAILED', pageUrl, update: {} });
  const command = { label: 'Details', value: 'dropforge jobs describe digits' };
  expect(content(undefined)).toMatchObject({ link: null, facts: expect.arrayContaining([command]) });
  expect(content('https://page.example').facts).not.toContainEqual(command);
});

it('a job whose loss became NaN is not a plain success', () => {
  const nan = { code: 'METRIC_NOT_FINITE', message: 'Metric loss became NaN.', remedy: 'Check the learning rate.' };
  const view = viewOf('digits', { warnings: [nan] });
  expect(describeJob(view, { state: 'SUCCEEDED', pageUrl: undefined, update: {} })).toMatchObject({
    tone: 'WARNING',
    title: 'digits SUCCEEDED, but 1 warning',
    paragraphs: ['⚠ Metric loss became NaN. Check the learning rate.'],
  });
});
