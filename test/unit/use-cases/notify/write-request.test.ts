import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { describeJob } from '#shared/use-cases/notify/describe-job.ts';
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

/** What is sent about a job whose texts a program and a user have written. */
function written(channel: string, text: string): string {
  const settings = CHANNELS[channel];
  if (settings === undefined) {
    throw new Error(`There is no channel ${channel}.`);
  }
  const cause = { code: 'PROGRAM_FAILED', class: 'user', message: text, remedy: text, evidence: [text] };
  const view = viewOf('digits', {
    state: 'FAILED',
    cause: { ...cause, label: null, canRetryHelp: null, rootLine: null, link: null },
  });
  const content = describeJob(view, { state: 'FAILED', pageUrl: 'https://page.example', update: {} });
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

it('a job whose loss became NaN is not a plain success', () => {
  const nan = { code: 'METRIC_NOT_FINITE', message: 'Metric loss became NaN.', remedy: 'Check the learning rate.' };
  const view = viewOf('digits', { warnings: [nan] });
  expect(describeJob(view, { state: 'SUCCEEDED', pageUrl: undefined, update: {} })).toMatchObject({
    tone: 'WARNING',
    title: 'digits SUCCEEDED, but 1 warning',
    paragraphs: ['⚠ Metric loss became NaN. Check the learning rate.'],
  });
});
