import type { Logger } from '#shared/observability/logger.ts';

/** How many of the errors behind one are logged: its cause, those that it aggregates, and theirs. */
const CAUSES_MAX = 10;

/** Logs whatever was thrown, once, as Error Reporting reads it: with the stack; a value without one, with its text. */
export function logThrown(logger: Logger, thrown: unknown): void {
  const stack = stackOf(thrown);
  const problem = textOf(thrown);
  const causes = errorsBehind(thrown).map((error) => stackOf(error) ?? textOf(error));
  // Error Reporting groups errors without a stack by the message.
  logger.log('ERROR', stack === undefined ? `function failed: ${problem}` : 'function failed', {
    ...(stack !== undefined && { stack_trace: stack }),
    problem,
    ...(causes.length > 0 && { causes }),
  });
}

function stackOf(thrown: unknown): string | undefined {
  const stack = readField(thrown, 'stack');
  return typeof stack === 'string' && /\n\s+at /.test(stack) ? stack : undefined;
}

function textOf(thrown: unknown): string {
  const message = readField(thrown, 'message');
  if (typeof message === 'string') {
    return message;
  }
  try {
    return String(thrown);
  } catch {
    return 'An error whose text cannot be read.';
  }
}

function errorsBehind(thrown: unknown): readonly unknown[] {
  const found = [thrown];
  for (const error of found) {
    const errors = readField(error, 'errors');
    for (const next of [readField(error, 'cause'), ...(Array.isArray(errors) ? errors.slice(0, CAUSES_MAX) : [])]) {
      if (next !== undefined && !found.includes(next) && found.length <= CAUSES_MAX) {
        found.push(next);
      }
    }
  }
  return found.slice(1);
}

/** A field of anything; undefined if its getter throws. */
function readField(value: unknown, name: string): unknown {
  try {
    return Object(value)[name];
  } catch {
    return undefined;
  }
}
