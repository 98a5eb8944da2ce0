import type { Problem } from '#shared/protocol/problem.ts';

/** Why a request failed, and what to do. `status` is 0 if the server was not reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly remedy: string;
  /** The problems of a submission; empty for other requests. */
  readonly problems: readonly Problem[];

  constructor(
    message: string,
    facts: { readonly status: number; readonly remedy?: string; readonly problems?: readonly Problem[] },
  ) {
    super(message);
    this.status = facts.status;
    this.remedy = facts.remedy ?? '';
    this.problems = facts.problems ?? [];
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The body of an error response of the API. */
type ErrorBody = {
  readonly error?: { readonly message?: unknown; readonly remedy?: unknown };
  readonly problems?: readonly Problem[];
};

export async function readError(response: Response): Promise<ApiError> {
  const { status } = response;
  const body: ErrorBody = await response.json().catch(() => ({}));
  const { message, remedy } = body.error ?? {};
  return new ApiError(typeof message === 'string' ? message : describeStatus(response), {
    status,
    remedy: typeof remedy === 'string' ? remedy : remedyOf(status),
    problems: Array.isArray(body.problems) ? body.problems : [],
  });
}

export function unreachable(): ApiError {
  return new ApiError('The Dropforge API is unreachable.', {
    status: 0,
    remedy:
      'Reload the page, in case your login has ended. Otherwise check that `dropforge up` or `dropforge dashboard` is still running, and your network.',
  });
}

function describeStatus({ status, statusText }: Response): string {
  return `The API answered ${status}${statusText === '' ? '' : ` ${statusText}`}.`;
}

function remedyOf(status: number): string {
  return status === 401 || status === 403
    ? 'Reload the page, or open the address that `dropforge dashboard` prints again: this session has no access or has ended.'
    : status >= 500
      ? 'Try again; if it persists, read the log of the function `api`.'
      : '';
}

/** The error that was thrown by a request, or while its answer was handled, which `describe` puts into a sentence. */
export function asApiError(
  thrown: unknown,
  describe = (reason: string) => reason,
  remedy = 'Reload the page: it may be of another version than the API.',
): ApiError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return thrown instanceof ApiError ? thrown : new ApiError(describe(reason), { status: 0, remedy });
}
