import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  isLocalHost,
  LocalAddressError,
  lookupInTurn,
  lookupRemote,
} from '#infra/embedded/vm-proxy/local-addresses.ts';
import { type ChooseUpstream, proxyAuthorizationOf } from '#infra/embedded/vm-proxy/upstream.ts';
import { hostOf } from '#infra/network/addresses.ts';

const CONNECT_MS_MAX = 30_000;
const ANSWER_BYTES_MAX = 16_384;

/**
 * Opens a connection to another host, through the proxy of this machine if it has one. Rejects with LocalAddressError
 * for this machine itself, and with an Error that has the reason if the connection fails.
 */
export async function openTunnel(host: string, port: number, chooseUpstream: ChooseUpstream): Promise<Socket> {
  if (isLocalHost(host)) {
    throw new LocalAddressError(host);
  }
  const upstream = chooseUpstream({ scheme: port === 80 ? 'http' : 'https', host, port });
  const socket =
    upstream === undefined ? connectPlain({ host, port, lookup: lookupRemote }) : connectToUpstream(upstream);
  const connected = upstream?.protocol === 'https:' ? 'secureConnect' : 'connect';
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(CONNECT_MS_MAX, () =>
      fail(new Error(`${host} did not answer within ${CONNECT_MS_MAX / 1_000} s.`)),
    );
    socket.once('error', fail);
    socket.once('close', () => fail(new Error(`The connection to ${host} was closed.`)));
    const onOpen = () => {
      socket.setTimeout(0);
      socket.removeAllListeners('error').removeAllListeners('close').removeAllListeners('timeout');
      resolve(socket);
    };
    socket.once(connected, () => {
      if (upstream === undefined) {
        onOpen();
      } else {
        requestTunnel(socket, { upstream, host, port }).then(onOpen, fail);
      }
    });
  });
}

function connectToUpstream(upstream: URL): Socket {
  const host = hostOf(upstream);
  return upstream.protocol === 'https:'
    ? connectTls({ host, port: Number(upstream.port || 443), servername: host, lookup: lookupInTurn })
    : connectPlain({ host, port: Number(upstream.port || 80), lookup: lookupInTurn });
}

async function requestTunnel(
  socket: Socket,
  { upstream, host, port }: { readonly upstream: URL; readonly host: string; readonly port: number },
): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const authorization = proxyAuthorizationOf(upstream);
  const lines = [
    `CONNECT ${authority} HTTP/1.1`,
    `Host: ${authority}`,
    ...(authorization === undefined ? [] : [`Proxy-Authorization: ${authorization}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const head = await readHead(socket);
  if (!/^HTTP\/1\.[01] 2\d\d/.test(head)) {
    throw new Error(`The proxy ${upstream.host} answered ${head.split('\r\n')[0]} for ${authority}.`);
  }
}

/** Reads up to the empty line; what follows it stays in the socket. */
function readHead(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = '';
    const onReadable = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        head += (chunk as Buffer).toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end >= 0) {
          socket.off('readable', onReadable);
          const rest = head.slice(end + 4);
          if (rest !== '') {
            socket.unshift(Buffer.from(rest, 'latin1'));
          }
          resolve(head.slice(0, end));
          return;
        }
        if (head.length > ANSWER_BYTES_MAX) {
          reject(new Error('The proxy of this machine sent too long an answer.'));
          return;
        }
      }
    };
    socket.on('readable', onReadable);
  });
}
