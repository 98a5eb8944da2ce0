import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import * as z from 'zod';
import type { Denial } from '#cli/client/describe-denial.ts';
import { Failure, NotFound, RetryableFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { responseTo } from '#infra/network/response-to.ts';
import { readRetryAfterMs } from '#infra/network/retry-after.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

const RESPONSE_TIMEOUT_MS = 30_000;

const errorResponseSchema = z.object({
  error: z.object({ message: z.string(), remedy: z.string().optional() }),
});

/** The remedies for a server that is unreachable, and for credentials that are rejected before they reach it. */
export type Remedies = { readonly unreachable: string; readonly denied: (denial: Denial) => string };

/** Set by Identity-Aware Proxy on answers of its own (IAP docs, "Using query parameters and headers"). */
const PROXY_HEADER = 'x-goog-iap-generated-response';

export function embeddedRemedies(): Remedies {
  const start = `run \`${programName()} up\``;
  return { unreachable: start, denied: () => start };
}

type Response = Pick<IncomingMessage, 'headers'> & {
  readonly url: string;
  readonly status: number;
  readonly text: string;
};

type SentHeaders = Readonly<Record<string, string>>;

type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly headers?: SentHeaders;
  /** Defaults to those of an embedded cloud. */
  readonly remedies?: Remedies;
};

/** Sends a request and parses the response. Throws Failure with the server's message for an error response. */
export async function requestJson<T>(url: string, schema: z.ZodType<T>, options: RequestOptions = {}): Promise<T> {
  const { method = 'GET', headers = {}, remedies = embeddedRemedies() } = options;
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  try {
    // Not with `fetch`, which takes Node.js longer to load than most commands need.
    const send = url.startsWith('https:') ? requestTls : requestPlain;
    const message = await responseTo(send(url, { method, headers, signal }).end(options.body));
    response = { url, status: message.statusCode ?? 0, headers: message.headers, text: await readText(message) };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new Failure(`${new URL(url).origin} is unreachable: ${remedies.unreachable} (${describeCause(error)}).`);
  }
  if (response.status < 200 || response.status > 299) {
    throw toFailure(response, describeErrorResponse(response, { remedies, sent: headers }));
  }
  return schema.parse(JSON.parse(response.text));
}

function toFailure({ status, headers }: Response, message: string): Failure {
  switch (status) {
    case 404:
      return new NotFound(message);
    case 429:
    case 503:
      return new RetryableFailure(message, readRetryAfterMs(headers['retry-after'] ?? null) ?? 0);
    default:
      return new Failure(message);
  }
}

function describeErrorResponse(
  { url, status, headers, text }: Response,
  { remedies, sent }: { readonly remedies: Remedies; readonly sent: SentHeaders },
): string {
  const problem = errorResponseSchema.safeParse(parseJson(text));
  if (!problem.success && (status === 401 || status === 403)) {
    const denial = { status, isOfProxy: PROXY_HEADER in headers, authorization: sent.authorization };
    return `${new URL(url).origin} denied access (${status}): ${remedies.denied(denial)}.`;
  }
  if (!problem.success) {
    return `${url} returned ${status} ${text.slice(0, 200)}`.trimEnd();
  }
  const { message, remedy } = problem.data.error;
  return remedy === undefined ? message : `${message} ${remedy}`;
}

function describeCause(error: unknown): string {
  return error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error);
}
