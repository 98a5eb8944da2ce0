import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOST } from '#infra/embedded/http/server.ts';
import { postWebhook } from '#infra/notifications/post-webhook.ts';
import { isPublicAddress } from '#infra/notifications/public-address.ts';
import { sendMail } from '#infra/notifications/send-mail.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { classifyAnswer } from '#shared/use-cases/notify/classify-answer.ts';
import { startSmtpServer } from '../support/notifications/smtp-server.ts';
import { startSocketServer } from '../support/notifications/socket-server.ts';
import { startWebhookServer, type WebhookServer } from '../support/notifications/webhook-server.ts';

const { team } = notificationChannelsSchema.parse({ team: { kind: 'slack', secret: 'slack-team' } });
const TOKEN = 'B0-very-secret-token';

let server: WebhookServer;
beforeAll(async () => {
  server = await startWebhookServer();
});
afterAll(() => server.close());

async function post(path = `/services/${TOKEN}`, base = server.url) {
  const request = { url: `${base}${path}`, headers: { 'content-type': 'application/json' }, body: '{"text":"é"}' };
  const answer = await postWebhook(request, { allowsPrivateAddresses: true, timeoutMs: 500 });
  if (team === undefined) {
    throw new Error('There is no channel.');
  }
  return classifyAnswer(answer, team);
}

describe('a webhook', () => {
  it('gets the body as it is, in one request', async () => {
    server.answer = (_, response) => void response.end('ok');
    expect(await post()).toMatchObject({ outcome: 'SENT', status: 200, problem: null });
    expect(server.received).toMatchObject([{ path: `/services/${TOKEN}`, body: '{"text":"é"}' }]);
  });

  it.each([
    [500, 'RETRYING', 'Check that the service is up'],
    [503, 'RETRYING', 'Check that the service is up'],
    [408, 'RETRYING', 'Check that the service is up'],
    [400, 'REJECTED', 'of the kind slack'],
    [403, 'REJECTED', 'add its URL as a new version of the secret slack-team'],
    [404, 'REJECTED', 'does not exist or was deleted'],
    [410, 'REJECTED', 'does not exist or was deleted'],
  ])('that answers %i is %s, and the problem says what to do', async (status, outcome, remedy) => {
    server.answer = (_, response) => void response.writeHead(status).end(`Unknown ${TOKEN}\u001b[31m!`);
    const classified = await post();
    expect(classified).toMatchObject({ outcome, status });
    expect(classified.problem).toContain(`HTTP ${status} ("Unknown *** [31m!")`);
    expect(classified.problem).toContain(remedy);
    expect(classified.problem).not.toContain(TOKEN);
  });

  it('that limits the rate is called again after the time that it names, at most 10 minutes', async () => {
    for (const [header, retryAfterMs] of [
      ['30', 30_000],
      ['86400', 600_000],
      ['soon', null],
    ] as const) {
      server.answer = (_, response) => void response.writeHead(429, { 'retry-after': header }).end();
      expect(await post()).toMatchObject({ outcome: 'RETRYING', status: 429, retryAfterMs });
    }
  });

  it('that redirects is not followed', async () => {
    const before = server.received.length;
    server.answer = (_, response) => void response.writeHead(307, { location: `${server.url}/elsewhere` }).end();
    expect(await post()).toMatchObject({ outcome: 'REJECTED', status: 307 });
    expect(server.received).toHaveLength(before + 1);
  });

  it('that does not answer in time, or is not there, is called again', async () => {
    server.answer = () => undefined;
    expect(await post()).toMatchObject({ outcome: 'RETRYING', problem: expect.stringContaining('within 0.5 s') });
    const closed = await startSocketServer(() => undefined);
    await closed.close();
    expect(await post('/x', `http://${HOST}:${closed.port}`)).toMatchObject({
      outcome: 'RETRYING',
      problem: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('that answers with something else than HTTP, or endlessly, ends in a sentence', async () => {
    const garbage = await startSocketServer((socket) => void socket.end('garbage\r\n'));
    expect(await post('/x', `http://${HOST}:${garbage.port}`)).toMatchObject({
      outcome: 'RETRYING',
      problem: expect.stringContaining('HPE_'),
    });
    await garbage.close();
    server.answer = (_, response) => {
      response.writeHead(200);
      const write = (): void =>
        void (
          response.destroyed ||
          (response.write('x'.repeat(65_536)) ? setImmediate(write) : response.once('drain', write))
        );
      write();
    };
    expect(await post()).toMatchObject({ outcome: 'SENT' });
  });
});

describe('on Google Cloud, a webhook', () => {
  const send = (url: string) => postWebhook({ url, headers: {}, body: '{}' }, { allowsPrivateAddresses: false });

  it.each([
    ['http://example.com/hook', 'is not an https:// URL'],
    ['https://user:password@example.com/', 'user or password'],
    ['not a url', 'is not a URL'],
    ['https://169.254.169.254/computeMetadata/v1/', 'not public'],
    ['https://127.0.0.1/', 'not public'],
    ['https://2130706433/', 'not public'],
    ['https://0x7f.1/', 'not public'],
    ['https://[::1]/', 'not public'],
    ['https://[::ffff:10.0.0.1]/', 'not public'],
    ['https://localhost/', 'not public'],
  ])('%s is not called', async (url, reason) => {
    expect(await send(url)).toMatchObject({ kind: 'FAILED', isFinal: true, problem: expect.stringContaining(reason) });
  });

  it('has an address of the Internet', () => {
    const special = [
      '10.1.2.3',
      '172.31.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '224.0.0.1',
      'fd00::1',
      'fe80::1',
      '::',
      'x',
    ];
    const embedded = ['::ffff:1.1.1.1', '64:ff9b::a00:1', '2002:a00:1::', '2001:db8::1'];
    expect([...special, ...embedded].filter(isPublicAddress)).toEqual([]);
    expect(['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111'].filter(isPublicAddress)).toHaveLength(3);
  });
});

describe('a mail', () => {
  const mail = {
    ...{ from: 'dropforge@example.com', to: ['one@example.com', 'two@example.com'], text: 'Line\n\n.\nend\n' },
    ...{
      subject: '[Dropforge] digits FAILED\r\nBcc: all@example.com',
      messageId: '<digits-1-FAILED-mail@dropforge.invalid>',
    },
  };
  const limits = { allowsPrivateAddresses: true, timeoutMs: 2_000 };

  it('arrives with its recipients, and no text of it becomes a header', async () => {
    await using smtp = await startSmtpServer();
    const answer = await sendMail({ ...mail, smtpUrl: smtp.url }, limits);
    expect(answer).toMatchObject({ kind: 'ANSWERED', status: 250 });
    const [message] = smtp.messages;
    expect(message?.recipients).toEqual(['<one@example.com>', '<two@example.com>']);
    const headers = message?.data.split('\r\n\r\n')[0] ?? '';
    expect(headers).toContain('Message-ID: <digits-1-FAILED-mail@dropforge.invalid>');
    expect(headers).not.toMatch(/^Bcc:/im);
    expect(headers).toMatch(/^Subject: \[Dropforge\] digits FAILED Bcc: all@example.com$/m);
  });

  it.each([
    ['450 try later', false, 'reply 450'],
    ['550 no such user', true, 'rejected the mail with 550'],
  ])('that the server answers with %s fails', async (reply, isFinal, problem) => {
    await using smtp = await startSmtpServer(reply);
    expect(await sendMail({ ...mail, smtpUrl: smtp.url }, limits)).toMatchObject({
      ...{ kind: 'FAILED', isFinal, problem: expect.stringContaining(problem) },
    });
  });

  it('to a server that is not there, is private, or is none, fails without the password', async () => {
    const urls = ['smtp://user:hunter2@127.0.0.1:1', 'https://hunter2@example.com', 'hunter2'];
    const answers = await Promise.all(urls.map((smtpUrl) => sendMail({ ...mail, smtpUrl }, limits)));
    const refused = await sendMail(
      { ...mail, smtpUrl: 'smtps://u:hunter2@localhost' },
      { allowsPrivateAddresses: false },
    );
    expect(answers.map((answer) => Object(answer).isFinal)).toEqual([false, true, true]);
    expect(refused).toMatchObject({ isFinal: true, problem: expect.stringContaining('not public') });
    expect(JSON.stringify([answers, refused])).not.toContain('hunter2');
  });
});
