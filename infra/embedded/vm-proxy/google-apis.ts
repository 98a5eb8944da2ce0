import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { sendError } from '#infra/embedded/vm-proxy/api-error.ts';
import { hostNameOf } from '#infra/embedded/vm-proxy/google-hosts.ts';
import { findPublicBucket, type ReadPublicly } from '#infra/embedded/vm-proxy/public-reads.ts';

export type GoogleApisOptions = {
  /** The embedded Cloud Storage. */
  readonly storage: RequestListener;
  readonly hasBucket: (bucket: string) => boolean;
  /** Reads from Google itself; undefined if that is switched off. */
  readonly readPublicly: ReadPublicly | undefined;
  /** The access token of the VM's service account, as its metadata server returns it. */
  readonly issueToken: () => Promise<string>;
};

/** Starts the access tokens of VMs: Google's start with `ya29.` too. */
export const VM_TOKEN_PREFIX = 'ya29.c.dropforge-';

const STORAGE_HOSTS = ['storage.googleapis.com', 'storage.mtls.googleapis.com'];
const BUCKET_SUFFIX = '.storage.googleapis.com';
const SHARED_HOSTS = ['www.googleapis.com', 'www.mtls.googleapis.com'];
const STORAGE_PATH = /^\/(?:(?:upload|resumable|download|batch)\/)*storage\//;
const TOKEN_PATH = /^\/(?:v\d\/)?(?:o\/)?(?:oauth2\/)?(?:v\d\/)?token$/;
const TOKEN_HOSTS = ['oauth2.googleapis.com', 'sts.googleapis.com', 'accounts.google.com', ...SHARED_HOSTS];
const TOKEN_HOSTS_MTLS = ['oauth2.mtls.googleapis.com', 'sts.mtls.googleapis.com'];

/**
 * Answers requests for Google's hosts: Cloud Storage and access tokens. Everything else is rejected, so that no program
 * reaches Google's services unintentionally.
 */
export function createGoogleApis(options: GoogleApisOptions): RequestListener {
  return (request, response) => {
    const host = hostNameOf(request.headers.host ?? '');
    const { origin } = request.headers;
    if (origin !== undefined && hostNameOf(origin.replace(/^https?:\/\//, '')) !== host) {
      sendError(response, 403, 'The embedded cloud rejects requests from web pages.');
      return;
    }
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (TOKEN_PATH.test(path) && [...TOKEN_HOSTS, ...TOKEN_HOSTS_MTLS].includes(host)) {
      sendToken(options, request, response).catch(() => response.destroy());
      return;
    }
    const url = findStorageUrl(host, request.url ?? '/');
    if (url === undefined) {
      sendError(response, 501, `The embedded cloud does not offer ${host}${path}. See docs/embedded-cloud.md.`);
      return;
    }
    request.url = url;
    answerStorage(options, request, response);
  };
}

/** Reads of buckets that are not here, anonymous or with a VM's own token, go on to Google without that token. */
function answerStorage(options: GoogleApisOptions, request: IncomingMessage, response: ServerResponse): void {
  const { storage, hasBucket, readPublicly } = options;
  const bucket = findPublicBucket(request);
  const authorization = request.headers.authorization ?? '';
  const isOurs = authorization.startsWith(`Bearer ${VM_TOKEN_PREFIX}`);
  if (readPublicly === undefined || bucket === undefined || hasBucket(bucket) || (authorization !== '' && !isOurs)) {
    storage(request, response);
  } else {
    readPublicly(request, response, isOurs ? () => storage(request, response) : undefined);
  }
}

/** The path and query on storage.googleapis.com; undefined if the request is not for Cloud Storage. */
function findStorageUrl(host: string, url: string): string | undefined {
  if (STORAGE_HOSTS.includes(host)) {
    return url;
  }
  if (SHARED_HOSTS.includes(host)) {
    return STORAGE_PATH.test(url) ? url : undefined;
  }
  return host.endsWith(BUCKET_SUFFIX) ? `/${host.slice(0, -BUCKET_SUFFIX.length)}${url}` : undefined;
}

/** Credentials that a program brings along are exchanged here: they are not sent to Google, and not checked. */
async function sendToken(
  { issueToken }: GoogleApisOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const body = await issueToken();
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
}
