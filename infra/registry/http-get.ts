import * as http from 'node:http';
import * as https from 'node:https';
import { isIP } from 'node:net';
import {
  hostOf,
  isLinkLocalAddress,
  isPublicAddress,
  lookupAllowed,
  PrivateAddressError,
  type Resolver,
} from '#infra/network/addresses.ts';
import { responseTo } from '#infra/network/response-to.ts';

export type RegistryNetwork = {
  /**
   * Whether addresses of this machine and of private networks are called, and http on this machine: in the embedded
   * cloud. Never those of metadata servers.
   */
  readonly allowsPrivateAddresses: boolean;
  /** The timeout of one request, from the connection to the end of the answer. */
  readonly timeoutMs: number;
  /** HTTPS_PROXY and the like; none if missing. */
  readonly proxyEnvironment?: Readonly<Record<string, string | undefined>> | undefined;
  /** `dns.lookup` if missing. */
  readonly lookup?: Resolver | undefined;
};

export type GetOptions = {
  readonly headers: Readonly<Record<string, string>>;
  /** The limit of the answer's body; a longer one ends in BodyTooLargeError. */
  readonly bytesMax: number;
};

export type GetAnswer = {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether a redirect led to another host, which did not get the credentials. */
  readonly isElsewhere: boolean;
};

/** An address that is not called, whatever its answer would be. */
export class AddressRefusedError extends Error {}

export class BodyTooLargeError extends Error {}

const REDIRECTS_MAX = 3;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HEADER_BYTES_MAX = 16 << 10;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3})$/;

/** Whether the host is of this machine, to which plain http is spoken. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

type Hop = { readonly url: URL; readonly isPrivateAllowed: boolean; readonly headers: GetOptions['headers'] };

/**
 * Requests a URL and follows its redirects, to public addresses only: a registry is chosen by a job file, and must not
 * make this process call an address that only this process can reach. Another host gets no credentials.
 */
export async function get(url: URL, options: GetOptions, network: RegistryNetwork): Promise<GetAnswer> {
  let hop: Hop = { url, isPrivateAllowed: network.allowsPrivateAddresses, headers: options.headers };
  for (let redirects = 0; ; redirects += 1) {
    const answer = await getOnce(hop, options.bytesMax, network);
    const { location } = answer.headers;
    if (!REDIRECT_STATUSES.has(answer.status) || location === undefined) {
      return { ...answer, isElsewhere: hop.url.host !== url.host };
    }
    const target = URL.parse(location, hop.url);
    if (target === null || redirects === REDIRECTS_MAX) {
      throw new AddressRefusedError(target === null ? 'redirects to an invalid address' : 'redirects too often');
    }
    const { authorization: _, ...anonymous } = hop.headers;
    hop = {
      url: target,
      // Only a registry that is private itself may lead to private addresses, and only it to plain http.
      isPrivateAllowed: hop.isPrivateAllowed && !answer.isPublicPeer,
      headers: target.host === hop.url.host && target.protocol === hop.url.protocol ? hop.headers : anonymous,
    };
  }
}

type Answer = Omit<GetAnswer, 'isElsewhere'> & { readonly isPublicPeer: boolean };

async function getOnce({ url, isPrivateAllowed, headers }: Hop, bytesMax: number, network: RegistryNetwork) {
  const isAllowed = (address: string) => (isPrivateAllowed ? !isLinkLocalAddress(address) : isPublicAddress(address));
  refuseAddress(url, { isPrivateAllowed, isAllowed });
  const client = url.protocol === 'https:' ? https : http;
  const request = client.request(url, {
    headers: { 'user-agent': 'dropforge', 'accept-encoding': 'identity', ...headers },
    signal: AbortSignal.timeout(network.timeoutMs),
    // Without a shared agent: a connection that was checked for one request is not reused for another.
    agent: network.proxyEnvironment ? new client.Agent({ proxyEnv: { ...network.proxyEnvironment } }) : false,
    lookup: lookupAllowed(isAllowed, network.lookup),
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  const response = await responseTo(request.end());
  const isPublicPeer = isPublicAddress(response.socket.remoteAddress ?? '');
  const body = await readBody(response, bytesMax);
  return { status: response.statusCode ?? 0, headers: response.headers, body, isPublicPeer } satisfies Answer;
}

type AddressRule = { readonly isPrivateAllowed: boolean; readonly isAllowed: (address: string) => boolean };

/** Throws AddressRefusedError. Names are checked when they are resolved. */
function refuseAddress(url: URL, { isPrivateAllowed, isAllowed }: AddressRule): void {
  const host = hostOf(url);
  const isPlainAllowed = isPrivateAllowed && isLoopbackHost(host);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isPlainAllowed)) {
    throw new AddressRefusedError('leads to an address that is not https');
  }
  if (url.username !== '' || url.password !== '') {
    throw new AddressRefusedError('leads to an address with a password');
  }
  if (isIP(host) !== 0 && !isAllowed(host)) {
    throw new PrivateAddressError('The address is not allowed.');
  }
}

async function readBody(response: http.IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    sizeBytes += (chunk as Buffer).byteLength;
    if (sizeBytes > bytesMax) {
      response.destroy();
      throw new BodyTooLargeError(`more than ${bytesMax} bytes`);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
