import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { hostOf, isPublicAddress, lookupPublic, PrivateAddressError } from '#infra/network/addresses.ts';
import { responseTo } from '#infra/network/response-to.ts';
import { readRetryAfterMs } from '#infra/network/retry-after.ts';
import type { SendAnswer, WebhookRequest } from '#shared/ports/notification-sender.ts';

export type PostLimits = {
  /** Whether addresses of this machine and of private networks are allowed, and http to this machine. */
  readonly allowsPrivateAddresses: boolean;
  readonly timeoutMs?: number;
};

/** From the connection to the end of the answer. */
const TIMEOUT_MS = 10_000;

const EXCERPT_CHARACTERS_MAX = 200;
const ANSWER_BYTES_MAX = 4 << 10;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Posts a request to a webhook. Follows no redirects. The answer's excerpt and every problem are without the address. */
export async function postWebhook(
  { url: text, headers, body }: WebhookRequest,
  { allowsPrivateAddresses, timeoutMs = TIMEOUT_MS }: PostLimits,
): Promise<SendAnswer> {
  const url = URL.parse(text);
  const problem = url === null ? 'is not a URL' : rejectAddress(url, allowsPrivateAddresses);
  if (url === null || problem !== null) {
    const remedy = 'Add the https:// URL that the service shows as a new version of the secret.';
    return { kind: 'FAILED', isFinal: true, problem: `The value of the channel's secret ${problem}. ${remedy}` };
  }
  try {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const signal = AbortSignal.timeout(timeoutMs);
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    // Without a shared agent: a connection that was checked for one name is not reused for another.
    const options = {
      ...{ method: 'POST', headers: { ...headers, ...length }, signal, agent: false as const },
      ...(!allowsPrivateAddresses && { lookup: lookupPublic }),
    };
    const answer = await responseTo(send(url, options).end(body));
    const excerpt = await readExcerpt(answer, url);
    const retryAfterMs = readRetryAfterMs(answer.headers['retry-after']);
    const retryAfterSeconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000);
    return { kind: 'ANSWERED', status: answer.statusCode ?? 0, excerpt, retryAfterSeconds };
  } catch (error) {
    return describeFailure(error, url, timeoutMs);
  }
}

/** Why the address is not called; null if it is. */
function rejectAddress(url: URL, allowsPrivateAddresses: boolean): string | null {
  const isLoopback = LOOPBACK.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback && allowsPrivateAddresses)) {
    return 'is not an https:// URL';
  }
  if (url.username !== '' || url.password !== '') {
    return 'is a URL with a user or password, which is not supported';
  }
  const host = hostOf(url);
  return allowsPrivateAddresses || isIP(host) === 0 || isPublicAddress(host)
    ? null
    : 'leads to an address that is not public';
}

/** The beginning of the answer in one line, with the address masked; the rest is not awaited. */
async function readExcerpt(answer: IncomingMessage, url: URL): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer);
      sizeBytes += (chunk as Buffer).byteLength;
      if (sizeBytes >= ANSWER_BYTES_MAX) {
        break;
      }
    }
  } catch {
    // The status is the answer. A 2xx whose text is late or cut was accepted, and must not be sent again.
    sizeBytes = ANSWER_BYTES_MAX;
  }
  const text = Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString('utf8');
  const line = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  // The last word of a cut text can be the beginning of the address, which is recognized only as a whole.
  const words = sizeBytes < ANSWER_BYTES_MAX ? line : line.slice(0, line.lastIndexOf(' ') + 1).trim();
  return maskAddress(words, url).slice(0, EXCERPT_CHARACTERS_MAX);
}

/** A service may repeat the address, which is a credential, or a part of it, as it was sent or decoded. */
function maskAddress(excerpt: string, url: URL): string {
  const parts = [...url.pathname.split('/'), ...url.search.slice(1).split(/[&=]/)];
  const secrets = [url.href, url.pathname, url.search, ...parts, ...parts.map(decode)];
  return secrets
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, '***'), excerpt);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A part that is not percent-encoded UTF-8 has no other form.
    return part;
  }
}

/** Messages of Node.js name hosts and addresses, so only their codes are shown. */
function describeFailure(error: unknown, { host }: URL, timeoutMs: number): SendAnswer {
  const { name, code } = Object(error) as { readonly name?: string; readonly code?: string };
  if (error instanceof PrivateAddressError) {
    const problem = `The host ${host} leads to an address that is not public, so it is not called.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  const isLate = name === 'TimeoutError' || name === 'AbortError' || code === 'ABORT_ERR';
  const problem = isLate
    ? `The host ${host} did not answer within ${timeoutMs / 1_000} s. Check that the service is up.`
    : `The host ${host} could not be reached (${code ?? name ?? 'error'}). Check the URL and that the service is up.`;
  return { kind: 'FAILED', isFinal: false, problem };
}
