import { readError, unreachable } from '#dashboard/client/api-error.ts';

const RESPONSE_TIMEOUT_MS = 30_000;

/** Marks a request as one of this page: a page of another origin cannot set a header without permission (CORS). */
const PAGE_HEADER = { 'x-dropforge-page': '1' } as const;

/** The answer to a conditional request; `isUnchanged` has no data. */
export type ConditionalAnswer<Data> =
  | { readonly isUnchanged: true }
  | { readonly isUnchanged: false; readonly data: Data; readonly etag: string | null };

/** Reads a resource of the API, unless it still has the given ETag. Throws ApiError. */
export async function getJson<Data>(path: string, etag: string | null): Promise<ConditionalAnswer<Data>> {
  const headers = etag === null ? {} : { 'if-none-match': etag };
  const response = await send(path, { headers, cache: 'no-store' });
  return response.status === 304
    ? { isUnchanged: true }
    : { isUnchanged: false, data: await response.json(), etag: response.headers.get('etag') };
}

/** Sends JSON and reads the answer. Throws ApiError. */
export async function postJson<Data>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<Data> {
  const response = await send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return response.json();
}

/** Sends a request of the page. Any answer other than a success or 304 is thrown as ApiError. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
  const response = await fetch(path, { ...init, signal, headers: { ...PAGE_HEADER, ...init.headers } }).catch(() => {
    init.signal?.throwIfAborted();
    throw unreachable();
  });
  if (!response.ok && response.status !== 304) {
    throw await readError(response);
  }
  return response;
}
