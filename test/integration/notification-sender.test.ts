import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOST } from '#infra/embedded/http/server.ts';
import { isPublicAddress } from '#infra/network/addresses.ts';
import { postWebhook } from '#infra/notifications/post-webhook.ts';
import { sendMail } from '#infra/notifications/send-mail.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { classifyAnswer } from '#shared/use-cases/notify/classify-answer.ts';
import { issueCertificate } from '../support/notifications/certificate.ts';
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

describe('a hostile webhook', () => {
  /** Answers every connection with these bytes, and does not close it. */
  const answerOf = async (bytes: string) => {
    const hostile = await startSocketServer((socket) => void socket.once('data', () => socket.write(bytes)));
    const classified = await post(`/services/${TOKEN}`, `http://${HOST}:${hostile.port}`);
    await hostile.close();
    return classified;
  };

  it('that accepts and does not end its text in time has accepted: it is not called again', async () => {
    const beginning = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok';
    expect(await answerOf(beginning)).toMatchObject({ outcome: 'SENT', status: 200 });
  });

  it('that answers with another protocol, or only with headers, ends in a sentence', async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
    expect(await answerOf(upgrade)).toMatchObject({
      outcome: 'RETRYING',
      problem: expect.stringContaining('NO_ANSWER'),
    });
    const headers = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n`;
    expect(await answerOf(headers)).toMatchObject({ outcome: 'RETRYING', problem: expect.stringContaining('HPE_') });
  });

  it('discloses no part of the address by repeating it where the answer is cut', async () => {
    for (const length of [150, 190, 4_080]) {
      const text = `${'x'.repeat(length)} ${TOKEN}`;
      const { problem } = await answerOf(`HTTP/1.1 404 No\r\ncontent-length: ${length + 99}\r\n\r\n${text}`);
      expect(problem).not.toContain(TOKEN.slice(0, 6));
    }
  });

  it('discloses no encoded credential of the query by decoding it', async () => {
    const body = 'no access with s3cret/key';
    server.answer = (_, response) => void response.writeHead(403).end(body);
    expect((await post('/x?sig=s3cret%2Fkey&v=1')).problem).toContain('("no access with ***")');
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
    ['https://0.0.0.0/', 'not public'],
    ['https://[::]/', 'not public'],
    ['https://[fd00:ec2::254]/', 'not public'],
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
    const embedded = ['::ffff:1.1.1.1', '64:ff9b::a00:1', '2002:a00:1::', '2001:db8::1', '3fff::1'];
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
    await using smtp = await startSmtpServer({ replyTo: () => reply });
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

  it('that some recipients do not get is not sent again to the others, and names the recipients', async () => {
    await using smtp = await startSmtpServer({ replyTo: (to) => (to.includes('two') ? '550 unknown' : '250 ok') });
    expect(await sendMail({ ...mail, smtpUrl: smtp.url }, limits)).toMatchObject({
      isFinal: true,
      problem: expect.stringContaining('for 1 of 2 recipients, and not for two@example.com'),
    });
    expect(smtp.messages).toHaveLength(1);
  });

  it('to a server that replies a little at a time has timed out', async () => {
    const slow = await startSocketServer((socket) => {
      socket.on('error', () => socket.destroy()).write('220 test\r\n');
      const drip = setInterval(() => void socket.write('250-wait\r\n'), 20);
      socket.once('close', () => clearInterval(drip));
    });
    const answer = await sendMail({ ...mail, smtpUrl: `smtp://${HOST}:${slow.port}` }, { ...limits, timeoutMs: 100 });
    expect(answer).toMatchObject({ isFinal: false, problem: expect.stringContaining('could not take the mail (') });
    await slow.close();
  });
});

describe('a mail server with a password', () => {
  const mail = { from: 'a@example.com', to: ['b@example.com'], subject: 's', text: 't', messageId: '<m@x.invalid>' };
  const limits = { allowsPrivateAddresses: true, timeoutMs: 2_000 };
  const trusted = getCACertificates();
  let certificate: Awaited<ReturnType<typeof issueCertificate>>;

  beforeAll(async () => {
    certificate = await issueCertificate();
    setDefaultCACertificates([...trusted, certificate.cert]);
  });
  afterAll(() => setDefaultCACertificates(trusted));

  const LOGIN = { credentials: ['me@example.com', 'hunter2%'], isEncrypted: true };
  const urlOf = (scheme: string, port: number, host = 'localhost') =>
    `${scheme}://me%40example.com:hunter2%25@${host}:${port}`;

  it.each([
    ['smtps', true],
    ['smtp', false],
  ])('gets it by %s, encrypted', async (scheme, isSmtps) => {
    await using smtp = await startSmtpServer({ certificate, isSmtps });
    const answer = await sendMail({ ...mail, smtpUrl: urlOf(scheme, smtp.port) }, limits);
    expect(answer).toMatchObject({ kind: 'ANSWERED', status: 250 });
    expect([smtp.logins, smtp.messages.length]).toEqual([[LOGIN], 1]);
  });

  it('does not get it with a certificate for another name, or from an unknown authority', async () => {
    await using other = await startSmtpServer({ certificate, isSmtps: true });
    const wrongName = await sendMail({ ...mail, smtpUrl: urlOf('smtps', other.port, HOST) }, limits);
    await using unknown = await startSmtpServer({ certificate: await issueCertificate() });
    const wrongAuthority = await sendMail({ ...mail, smtpUrl: urlOf('smtp', unknown.port) }, limits);
    for (const answer of [wrongName, wrongAuthority]) {
      expect(answer).toMatchObject({ isFinal: false, problem: expect.stringContaining('certificate') });
    }
    expect([...other.logins, ...unknown.logins]).toEqual([]);
  });

  it('that rejects it is not asked again, unless it says that the failure is temporary', async () => {
    for (const [loginReply, isFinal] of [
      ['535 wrong password', true],
      ['454 try later', false],
    ] as const) {
      await using smtp = await startSmtpServer({ certificate, loginReply });
      const answer = await sendMail({ ...mail, smtpUrl: urlOf('smtp', smtp.port) }, limits);
      expect(answer).toMatchObject({ kind: 'FAILED', isFinal });
      expect(JSON.stringify(answer)).not.toContain('hunter2');
    }
  });
});
