import { RedeliverLater } from '#functions/redeliver.ts';
import type { Logger } from '#shared/observability/logger.ts';

/**
 * Writes down what a handler throws, once and with its stack, and throws it on without: the framework would print the
 * stack once more as plain text, which no log can be searched by.
 */
export function logErrors<Input extends readonly unknown[]>(
  name: string,
  logger: Logger,
  handler: (...input: Input) => unknown,
): (...input: Input) => Promise<void> {
  return async (...input) => {
    try {
      await handler(...input);
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      const severity = fault instanceof RedeliverLater ? 'INFO' : 'ERROR';
      logger.log(severity, 'function failed', { function: name, problem: fault.message, stack: fault.stack });
      fault.stack = '';
      throw fault;
    }
  };
}
