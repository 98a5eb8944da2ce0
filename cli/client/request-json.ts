import * as z from 'zod';
import type { Denial } from '#cli/client/describe-denial.ts';
import { Failure, NotFound, RetryableFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
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
  const { method = 'GET', body = null, headers = {}, remedies = embeddedRemedies() } = options;
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  try {
    response = await fetch(url, { method, body, headers, signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new Failure(`${new URL(url).origin} is unreachable: ${remedies.unreachable} (${describeCause(error)}).`);
  }
  const text = await response.text();
  if (!response.ok) {
    throw toFailure(response, describeErrorResponse(response, { text, remedies, sent: headers }));
  }
  return schema.parse(JSON.parse(text));
}

function toFailure({ status, headers }: Response, message: string): Failure {
  switch (status) {
    case 404:
      return new NotFound(message);
    case 429:
    case 503:
      return new RetryableFailure(message, readRetryAfterMs(headers.get('retry-after')) ?? 0);
    default:
      return new Failure(message);
  }
}

function describeErrorResponse(
  response: Response,
  { text, remedies, sent }: { readonly text: string; readonly remedies: Remedies; readonly sent: SentHeaders },
): string {
  const problem = errorResponseSchema.safeParse(parseJson(text));
  const { status } = response;
  if (!problem.success && (status === 401 || status === 403)) {
    const denial = { status, isOfProxy: response.headers.has(PROXY_HEADER), authorization: sent.authorization };
    return `${new URL(response.url).origin} denied access (${status}): ${remedies.denied(denial)}.`;
  }
  if (!problem.success) {
    return `${response.url} returned ${response.status} ${text.slice(0, 200)}`.trimEnd();
  }
  const { message, remedy } = problem.data.error;
  return remedy === undefined ? message : `${message} ${remedy}`;
}

/** `fetch` reports the reason in the error's cause. */
function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}
