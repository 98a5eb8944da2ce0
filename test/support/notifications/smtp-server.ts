import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { TLSSocket } from 'node:tls';
import { HOST } from '#infra/embedded/http/server.ts';
import { startSocketServer } from './socket-server.ts';

export type ReceivedMail = { readonly recipients: readonly string[]; readonly data: string };

/** The credentials that a client sent to log in, and whether the connection was encrypted. */
export type ReceivedLogin = { readonly credentials: readonly string[]; readonly isEncrypted: boolean };

type Behavior = {
  /** The answer to each recipient. */
  readonly replyTo?: (recipient: string) => string;
  readonly loginReply?: string;
  /** With it the server offers STARTTLS or, as an SMTPS server, encrypts from the beginning. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  readonly isSmtps?: boolean;
};

/** A server with the commands of RFC 5321, 3207 and 4954 that a client needs to deliver a mail. */
export async function startSmtpServer(behavior: Behavior = {}) {
  const messages: ReceivedMail[] = [];
  const logins: ReceivedLogin[] = [];
  const { port, close } = await startSocketServer((socket) => {
    const { certificate, isSmtps } = behavior;
    const session = { messages, logins, behavior };
    serve(isSmtps && certificate ? encrypt(socket, certificate) : socket, session, '220 test');
  });
  return { url: `smtp://${HOST}:${port}`, port, messages, logins, [Symbol.asyncDispose]: close };
}

type Session = {
  readonly messages: ReceivedMail[];
  readonly logins: ReceivedLogin[];
  readonly behavior: Behavior;
};

function encrypt(socket: Socket, certificate: { readonly key: string; readonly cert: string }): TLSSocket {
  return new TLSSocket(socket, { isServer: true, ...certificate });
}

function serve(socket: Socket, session: Session, greeting?: string): void {
  const { certificate, loginReply = '235 ok', replyTo = () => '250 ok' } = session.behavior;
  const recipients: string[] = [];
  let data: string[] | undefined;
  const isEncrypted = socket instanceof TLSSocket;
  const offered = ['AUTH PLAIN', ...(certificate && !isEncrypted ? ['STARTTLS'] : [])];
  const say = (...lines: readonly string[]) => void socket.write(lines.map((line) => `${line}\r\n`).join(''));
  const answer = (line: string): void => {
    if (data !== undefined && line !== '.') {
      data.push(line);
    } else if (data !== undefined) {
      session.messages.push({ recipients, data: data.join('\r\n') });
      data = undefined;
      say('250 queued');
    } else if (/^EHLO/i.test(line)) {
      say('250-test', ...offered.map((one, index) => `250${index === offered.length - 1 ? ' ' : '-'}${one}`));
    } else if (/^STARTTLS/i.test(line) && certificate) {
      lines.close();
      socket.removeAllListeners('data');
      say('220 go on');
      serve(encrypt(socket, certificate), session);
    } else if (/^AUTH PLAIN /i.test(line)) {
      const [, user = '', password = ''] = Buffer.from(line.slice(11), 'base64').toString().split('\0');
      session.logins.push({ credentials: [user, password], isEncrypted });
      say(loginReply);
    } else if (/^RCPT TO:/i.test(line)) {
      recipients.push(line.slice('RCPT TO:'.length));
      say(replyTo(line));
    } else if (/^DATA/i.test(line)) {
      data = [];
      say('354 go on');
    } else if (/^QUIT/i.test(line)) {
      socket.end('221 bye\r\n');
    } else {
      say('250 ok');
    }
  };
  const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on('line', answer);
  socket.on('error', () => socket.destroy());
  if (greeting !== undefined) {
    say(greeting);
  }
}
