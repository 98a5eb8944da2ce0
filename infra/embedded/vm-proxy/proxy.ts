import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { sendError, statusMessage } from '#infra/embedded/vm-proxy/api-error.ts';
import { createApiServer } from '#infra/embedded/vm-proxy/api-server.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { createGoogleApis, type GoogleApisOptions } from '#infra/embedded/vm-proxy/google-apis.ts';
import { hostNameOf, isGoogleApiHost, isMetadataHost } from '#infra/embedded/vm-proxy/google-hosts.ts';
import { LocalAddressError } from '#infra/embedded/vm-proxy/local-addresses.ts';
import { forwardPlain } from '#infra/embedded/vm-proxy/plain-requests.ts';
import type { HostCertificate } from '#infra/embedded/vm-proxy/trust.ts';
import { openTunnel } from '#infra/embedded/vm-proxy/tunnel.ts';
import { type ChooseUpstream, readUpstream } from '#infra/embedded/vm-proxy/upstream.ts';

export type VmProxyOptions = GoogleApisOptions & {
  /** The environment of this machine, whose own proxy is used for other hosts. */
  readonly host: Environment;
  /** Undefined until the VM has booted. */
  readonly certificate: () => HostCertificate | undefined;
};

export type VmProxy = {
  /** Serves the proxy on a server whose other requests are for the metadata server. */
  attach(server: Server, metadata: RequestListener): void;
  close(): void;
};

const HTTP_PORT = 80;
const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';

type ProxyContext = {
  readonly apis: RequestListener;
  readonly apiServer: Server;
  readonly metadataServer: Server;
  readonly chooseUpstream: ChooseUpstream;
  readonly createTlsSocket: (socket: Socket) => TLSSocket | undefined;
};

/**
 * The HTTP proxy of one VM. Google's API hosts are answered here, over TLS with the proxy's own certificate; connections
 * to other hosts are passed on unchanged, except to this machine itself.
 */
export function createVmProxy(options: VmProxyOptions): VmProxy {
  const apis = createGoogleApis(options);
  const apiServer = createApiServer(apis);
  const shared = {
    apis,
    apiServer,
    chooseUpstream: readUpstream(options.host),
    createTlsSocket: tlsSocketsOf(options),
  };
  const connections = new Set<Socket>();
  return {
    attach(metadataServer, metadata) {
      const context = { ...shared, metadataServer };
      metadataServer.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const url = /^http:\/\//i.test(request.url ?? '') ? URL.parse(request.url ?? '') : null;
        if (url !== null && !isMetadataHost(hostNameOf(url.host))) {
          serveRequest(context, url, { request, response });
          return;
        }
        request.url = url === null ? request.url : `${url.pathname}${url.search}`;
        metadata(request, response);
      });
      metadataServer.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
        connections.add(socket);
        socket.on('close', () => connections.delete(socket));
        socket.on('error', () => socket.destroy());
        serveConnect(context, request.url ?? '', { socket, head });
      });
    },
    close() {
      for (const socket of connections) {
        socket.destroy();
      }
      apiServer.closeAllConnections();
    },
  };
}

function serveRequest(
  { apis, chooseUpstream }: ProxyContext,
  url: URL,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
): void {
  const { request, response } = exchange;
  const host = hostNameOf(url.host);
  if (request.headers.origin !== undefined) {
    sendError(response, 403, 'The embedded cloud rejects requests from web pages.');
  } else if (isGoogleApiHost(host)) {
    request.url = `${url.pathname}${url.search}`;
    request.headers.host = host;
    apis(request, response);
  } else {
    forwardPlain(url, exchange, chooseUpstream);
  }
}

function serveConnect(
  { apiServer, metadataServer, chooseUpstream, createTlsSocket }: ProxyContext,
  authority: string,
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
): void {
  const [, name, digits] = /^(.+):(\d{1,5})$/.exec(authority) ?? [];
  if (name === undefined) {
    refuse(socket, 400, 'CONNECT needs HOST:PORT.');
    return;
  }
  const [host, port] = [hostNameOf(name), Number(digits)];
  const accept = (serve: () => void) => {
    socket.write(ESTABLISHED);
    if (head.length > 0) {
      socket.unshift(head);
    }
    serve();
  };
  if (port === HTTP_PORT && isMetadataHost(host)) {
    accept(() => metadataServer.emit('connection', socket));
  } else if (isGoogleApiHost(host)) {
    accept(() => {
      const served = port === HTTP_PORT ? socket : createTlsSocket(socket);
      return served === undefined ? socket.destroy() : apiServer.emit('connection', served);
    });
  } else {
    openTunnel(host, port, chooseUpstream).then(
      // The client may have timed out in the meantime.
      (onward) => (socket.destroyed ? onward.destroy() : accept(() => joinSockets(socket, onward))),
      (error: Error) => refuse(socket, error instanceof LocalAddressError ? 403 : 502, error.message),
    );
  }
}

/** Undefined until the VM has a certificate. A secure context takes a millisecond, so the last one is kept. */
function tlsSocketsOf({ certificate }: VmProxyOptions): (socket: Socket) => TLSSocket | undefined {
  let last: { readonly certificate: HostCertificate; readonly secureContext: SecureContext } | undefined;
  return (socket) => {
    const current = certificate();
    if (current === undefined) {
      return undefined;
    }
    if (last?.certificate !== current) {
      const secureContext = createSecureContext({
        cert: current.certificate,
        key: current.privateKey,
        minVersion: 'TLSv1.2',
      });
      last = { certificate: current, secureContext };
    }
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext: last.secureContext,
      ALPNProtocols: ['http/1.1'],
    });
    // A client that does not trust the certificate ends the handshake, and reports that itself.
    secure.on('error', () => secure.destroy());
    return secure;
  };
}

function refuse(socket: Socket, code: number, reason: string): void {
  const status = `HTTP/1.1 ${code} ${statusMessage(code, reason)}`;
  socket.end(`${status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${reason}\n`);
}

/** Copies both directions; the end of one side ends the other, and so does an error. */
function joinSockets(socket: Socket, onward: Socket): void {
  onward.on('error', () => socket.destroy());
  socket.on('close', () => onward.destroy());
  onward.on('close', () => socket.destroySoon());
  socket.pipe(onward);
  onward.pipe(socket);
}
