import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import * as http from 'node:http';
import * as https from 'node:https';
import { bindResponse, passOn } from '#infra/embedded/vm-proxy/answers.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { lookupInTurn } from '#infra/embedded/vm-proxy/local-addresses.ts';

/** `answerHere` answers in place of Google where Google denies or lacks the object. */
export type ReadPublicly = (request: IncomingMessage, response: ServerResponse, answerHere?: () => void) => void;

/** The only headers that are sent on: none of them carries credentials or names a project. */
const FORWARDED_HEADERS = [
  'accept',
  'accept-encoding',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
];

const CREDENTIAL_HEADERS = ['cookie', 'x-goog-user-project', 'x-goog-encryption-key'];
const CREDENTIAL_PARAMETERS =
  /^(?:x-goog-.*|x-amz-.*|signature|googleaccessid|expires|access_token|oauth_token|bearer_token|key|upload_id|userproject)$/i;

const DENIED_STATUSES: ReadonlySet<number | undefined> = new Set([401, 403, 404]);
const RESPONSE_MS_MAX = 60_000;

/** The bucket of a GET or HEAD without credentials except a token; undefined for every other request. */
export function findPublicBucket({ method, headers, url = '/' }: IncomingMessage): string | undefined {
  if ((method !== 'GET' && method !== 'HEAD') || CREDENTIAL_HEADERS.some((name) => headers[name] !== undefined)) {
    return undefined;
  }
  const parsed = URL.parse(url, 'https://storage.googleapis.com');
  if (parsed === null) {
    return undefined;
  }
  const { pathname, searchParams } = parsed;
  if ([...searchParams.keys()].some((name) => CREDENTIAL_PARAMETERS.test(name))) {
    return undefined;
  }
  const [, ofApi] = /^\/(?:download\/)?storage\/v1\/b\/([^/]+)(?:\/o(?:\/|$)|$)/.exec(pathname) ?? [];
  const [, ofObject] = /^\/([^/]{3,})(?:\/|$)/.exec(pathname) ?? [];
  const isReserved = /^\/(?:storage|download|upload|resumable|batch)\//.test(pathname);
  return ofApi ?? (isReserved ? undefined : ofObject);
}

/** Sends anonymous reads to Google's Cloud Storage at `origin`, through the proxy of this machine if it has one. */
export function createPublicReads(origin: string, environment: Environment): ReadPublicly {
  const isSecure = origin.startsWith('https:');
  const client = isSecure ? https : http;
  const agent = new client.Agent({ keepAlive: true, proxyEnv: { ...environment } });
  return (request, response, answerHere) => {
    const headers: OutgoingHttpHeaders = {};
    for (const name of FORWARDED_HEADERS) {
      if (request.headers[name] !== undefined) {
        headers[name] = request.headers[name];
      }
    }
    const options = { method: request.method, headers, agent, lookup: lookupInTurn, timeout: RESPONSE_MS_MAX };
    const onward = client.request(`${origin}${request.url}`, options, (answer) => {
      if (answerHere !== undefined && DENIED_STATUSES.has(answer.statusCode)) {
        answer.resume();
        answerHere();
        return;
      }
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...answered } = answer.headers;
      passOn(answer, answered, response);
    });
    onward.once('timeout', () => onward.destroy(new Error(`no answer within ${RESPONSE_MS_MAX / 1_000} s`)));
    bindResponse(onward, response, ({ message }) => ({
      // Clients of Cloud Storage repeat a request for minutes after 502.
      code: answerHere === undefined ? 502 : 404,
      message: `${origin}${request.url?.split('?')[0]} could not be read: ${message}. The embedded cloud has no such bucket.`,
    }));
    onward.end();
  };
}
