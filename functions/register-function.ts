import { type CloudEvent, cloudEvent, type HttpFunction, http } from '@google-cloud/functions-framework';
import { type EventFunctionName, type FunctionName, isEventFunction } from '#functions/functions.ts';
import { RedeliverLater } from '#functions/redeliver-later.ts';
import type { Logger } from '#shared/observability/logger.ts';

type EventHandler = (event: CloudEvent<unknown>) => Promise<void>;

export type HandlerOf<Name extends FunctionName> = Name extends EventFunctionName ? EventHandler : HttpFunction;

/** Registers a handler with the functions-framework under the function's name and for its trigger. */
export function registerFunction<Name extends FunctionName>(
  name: Name,
  logger: Logger,
  handler: HandlerOf<Name>,
): void {
  if (isEventFunction(name)) {
    const logged = logErrors(name, logger, handler as EventHandler);
    // The framework treats a handler as one with a callback unless it declares exactly one parameter.
    cloudEvent(name, (event: CloudEvent<unknown>) => logged(event));
  } else {
    const logged = logErrors(name, logger, handler as HttpFunction);
    http(name, (request, response) => logged(request, response));
  }
}

/**
 * Logs a handler's error once with its stack, then rethrows it without the stack: the framework would print the stack
 * again as plain text, which cannot be searched by field.
 */
function logErrors<Input extends readonly unknown[]>(
  name: string,
  logger: Logger,
  handler: (...input: Input) => unknown,
): (...input: Input) => Promise<void> {
  return async (...input) => {
    try {
      await handler(...input);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const severity = error instanceof RedeliverLater ? 'INFO' : 'ERROR';
      logger.log(severity, 'function failed', { function: name, problem: error.message, stack: error.stack });
      error.stack = '';
      throw error;
    }
  };
}
