import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { HOST } from '#infra/embedded/http/server.ts';
import { startSocketServer } from './socket-server.ts';

export type ReceivedMail = { readonly recipients: readonly string[]; readonly data: string };

/** A server with the commands of RFC 5321 that a client needs to deliver a mail; `reply` answers every recipient. */
export async function startSmtpServer(reply = '250 ok') {
  const messages: ReceivedMail[] = [];
  const { port, close } = await startSocketServer((socket) => serve(socket, messages, reply));
  return { url: `smtp://${HOST}:${port}`, messages, [Symbol.asyncDispose]: close };
}

function serve(socket: Socket, messages: ReceivedMail[], reply: string): void {
  const recipients: string[] = [];
  let data: string[] | undefined;
  const say = (line: string) => void socket.write(`${line}\r\n`);
  say('220 test');
  createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    if (data !== undefined && line !== '.') {
      data.push(line);
    } else if (data !== undefined) {
      messages.push({ recipients, data: data.join('\r\n') });
      data = undefined;
      say('250 queued');
    } else if (/^RCPT TO:/i.test(line)) {
      recipients.push(line.slice('RCPT TO:'.length));
      say(reply);
    } else if (/^DATA/i.test(line)) {
      data = [];
      say('354 go on');
    } else if (/^QUIT/i.test(line)) {
      socket.end('221 bye\r\n');
    } else {
      say('250 ok');
    }
  });
  socket.on('error', () => socket.destroy());
}
