import { z } from 'zod';
import type { Api } from '#cli/cloud/find-target.ts';
import { Failure, NotFound } from '#cli/failure.ts';

const ANSWER_MS_MAX = 30_000;

const problemAnswerSchema = z.object({
  error: z.object({ message: z.string(), remedy: z.string().optional() }),
});

type RequestOptions = {
  readonly method?: 'GET' | 'POST';
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly remedies?: Api['remedies'];
};

/** Who does not answer is an embedded cloud, unless it is said otherwise. */
const REMEDIES = { silent: 'run `npx dropforge up`', refused: 'run `npx dropforge up`' };

/** Sends a request and reads the answer. Fails with the server's own words where it refuses. */
export async function requestJson<T>(url: string, schema: z.ZodType<T>, options: RequestOptions = {}): Promise<T> {
  const { method = 'GET', headers = {}, remedies = REMEDIES } = options;
  const timeout = AbortSignal.timeout(ANSWER_MS_MAX);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  try {
    response = await fetch(url, { method, headers, signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new Failure(`${new URL(url).origin} does not answer: ${remedies.silent} (${describeCause(error)}).`);
  }
  const text = await response.text();
  if (!response.ok) {
    const refusal = describeRefusal(response, { text, remedies });
    throw response.status === 404 ? new NotFound(refusal) : new Failure(refusal);
  }
  return schema.parse(JSON.parse(text));
}

function describeRefusal(
  response: Response,
  { text, remedies }: { readonly text: string; readonly remedies: Api['remedies'] },
): string {
  const answer = problemAnswerSchema.safeParse(parseOrUndefined(text));
  if (!answer.success && (response.status === 401 || response.status === 403)) {
    return `${new URL(response.url).origin} does not let you in (${response.status}): ${remedies.refused}.`;
  }
  if (!answer.success) {
    return `${response.url} answered ${response.status} ${text.slice(0, 200)}`.trimEnd();
  }
  const { message, remedy } = answer.data.error;
  return remedy === undefined ? message : `${message} ${remedy}`;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` hides what happened in the cause of its error. */
function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}
