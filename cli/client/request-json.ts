import { z } from 'zod';
import { Busy, Failure, NotFound } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

const ANSWER_MS_MAX = 30_000;

const problemAnswerSchema = z.object({
  error: z.object({ message: z.string(), remedy: z.string().optional() }),
});

/** What to do when a server does not answer, or does not let one in. */
export type Remedies = { readonly silent: string; readonly refused: string };

export function remediesOfEmbedded(): Remedies {
  const start = `run \`${programName()} up\``;
  return { silent: start, refused: start };
}

type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** An embedded cloud's where none are given. */
  readonly remedies?: Remedies;
};

/** Sends a request and reads the answer. Fails with the server's own words where it refuses. */
export async function requestJson<T>(url: string, schema: z.ZodType<T>, options: RequestOptions = {}): Promise<T> {
  const { method = 'GET', body = null, headers = {}, remedies = remediesOfEmbedded() } = options;
  const timeout = AbortSignal.timeout(ANSWER_MS_MAX);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  try {
    response = await fetch(url, { method, body, headers, signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new Failure(`${new URL(url).origin} does not answer: ${remedies.silent} (${describeCause(error)}).`);
  }
  const text = await response.text();
  if (!response.ok) {
    const refusal = describeRefusal(response, { text, remedies });
    throw failureOf(response, refusal);
  }
  return schema.parse(JSON.parse(text));
}

function failureOf({ status, headers }: Response, refusal: string): Failure {
  switch (status) {
    case 404:
      return new NotFound(refusal);
    case 429:
    case 503:
      // The header may hold a date as well; the servers that we ask send seconds.
      return new Busy(refusal, 1_000 * (Number(headers.get('retry-after')) || 0));
    default:
      return new Failure(refusal);
  }
}

function describeRefusal(
  response: Response,
  { text, remedies }: { readonly text: string; readonly remedies: Remedies },
): string {
  const answer = problemAnswerSchema.safeParse(parseJson(text));
  if (!answer.success && (response.status === 401 || response.status === 403)) {
    return `${new URL(response.url).origin} does not let you in (${response.status}): ${remedies.refused}.`;
  }
  if (!answer.success) {
    return `${response.url} answered ${response.status} ${text.slice(0, 200)}`.trimEnd();
  }
  const { message, remedy } = answer.data.error;
  return remedy === undefined ? message : `${message} ${remedy}`;
}

/** `fetch` hides what happened in the cause of its error. */
function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}
