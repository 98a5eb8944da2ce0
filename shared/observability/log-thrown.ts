import { safely } from '#shared/observability/bound-value.ts';
import type { Logger } from '#shared/observability/logger.ts';

/** How many of the errors behind one are logged: its cause, those that it aggregates, and theirs. */
const CAUSES_MAX = 10;

/** Logs whatever was thrown, once, as Error Reporting reads it: with the stack; a value without one, with its text. */
export function logThrown(logger: Logger, thrown: unknown): void {
  const stack = stackOf(thrown);
  const problem = textOf(thrown);
  const behind = safely(() => errorsBehind(thrown), []);
  // Error Reporting groups errors without a stack by the message.
  logger.log('ERROR', stack === undefined ? `function failed: ${problem}` : 'function failed', {
    ...{ stack_trace: stack, problem },
    causes: behind.length === 0 ? undefined : behind.map((error) => stackOf(error) ?? textOf(error)),
  });
}

function stackOf(thrown: unknown): string | undefined {
  const stack = readField(thrown, 'stack');
  return typeof stack === 'string' && /\n {1,20}at /.test(stack) ? stack : undefined;
}

function textOf(thrown: unknown): string {
  const message = readField(thrown, 'message');
  return typeof message === 'string' ? message : safely(() => String(thrown), 'An error whose text cannot be read.');
}

function errorsBehind(thrown: unknown): readonly unknown[] {
  const found = [thrown];
  for (const error of found) {
    const next = [readField(error, 'cause'), readField(error, 'errors')].flat();
    found.push(
      ...next.filter((one) => one !== undefined && !found.includes(one)).slice(0, CAUSES_MAX - found.length + 1),
    );
  }
  return found.slice(1);
}

function readField(value: unknown, name: string): unknown {
  return safely(() => Object(value)[name], undefined);
}
