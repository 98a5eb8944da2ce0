import { ZodError } from 'zod';

/** What went wrong and what to do next; the process ends with 1. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** What was asked for is not there. */
export class NotFound extends Failure {}

/** The server has too much to do at the moment (429, 503): whoever can wait asks again. */
export class Busy extends Failure {
  /** As long as the server asked for; 0 where it said nothing. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Ctrl-C ended the command, but not what it has begun: the message says what goes on. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
}

/** The command line cannot be understood; the process ends with 2. */
export class UsageFailure extends Error {
  override readonly name = 'UsageFailure';
}

/** The sentence that a user is shown for anything that was thrown. */
export function describeError(error: unknown): string {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    const fault = `${issue?.path.join('.')}: ${issue?.message}`;
    return `An answer could not be understood (${fault}). Are the CLI and the cloud of one version?`;
  }
  return error instanceof Error ? error.message : String(error);
}
