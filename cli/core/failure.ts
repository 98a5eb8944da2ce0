import { ZodError } from 'zod';

/** An error whose message says what went wrong and what to do next. The process exits with 1. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The requested resource does not exist (404). */
export class NotFound extends Failure {}

/** Undefined if the work fails because the resource does not exist. */
export async function unlessNotFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotFound) {
      return undefined;
    }
    throw error;
  }
}

/** The server is rate limiting or temporarily unavailable (429, 503); the request can be retried. */
export class RetryableFailure extends Failure {
  /** From the Retry-After header; 0 if there is none. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The command was interrupted, but what it started is still running: the message says what. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
}

/** The command line is invalid. The process exits with 2. */
export class UsageFailure extends Error {
  override readonly name = 'UsageFailure';
}

/** Formats the reason why a file cannot be read. */
export function describeFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' ? 'the file does not exist' : code === 'EISDIR' ? 'it is a folder' : describeError(error);
}

/** Formats any thrown value as a sentence for the user. */
export function describeError(error: unknown): string {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    const detail = `${issue?.path.join('.')}: ${issue?.message}`;
    return `The response has an unexpected format (${detail}). Check that the CLI and the cloud have the same version.`;
  }
  return error instanceof Error ? error.message : String(error);
}
