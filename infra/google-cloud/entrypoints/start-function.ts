import { type CloudEvent, cloudEvent, type HttpFunction, http } from '@google-cloud/functions-framework';
import type { EventFunctionName, FunctionName, HttpFunctionName } from '#functions/index.ts';
import { logErrors } from '#functions/log-errors.ts';
import { readSettings, type SettingsOf } from '#functions/settings.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';

/** What a function is built from before it has adapters. */
export type FunctionContext<Name extends FunctionName> = {
  readonly settings: SettingsOf<Name>;
  readonly logger: Logger;
};

type EventHandler = (event: CloudEvent<unknown>) => Promise<void>;

/** Registers a function that hears a topic. Without its settings, the process says which ones and ends with 1. */
export function startEventFunction<Name extends EventFunctionName>(
  name: Name,
  create: (beginning: FunctionContext<Name>) => EventHandler,
): void {
  const beginning = begin(name);
  const handler = logErrors(name, beginning.logger, create(beginning));
  // The framework takes a handler for one with a callback unless it declares exactly one parameter.
  cloudEvent(name, (event: CloudEvent<unknown>) => handler(event));
}

/** The same for a function that has an HTTP door. */
export function startHttpFunction<Name extends HttpFunctionName>(
  name: Name,
  create: (beginning: FunctionContext<Name>) => HttpFunction,
): void {
  const beginning = begin(name);
  const handler = logErrors(name, beginning.logger, create(beginning));
  http(name, (request, response) => handler(request, response));
}

function begin<Name extends FunctionName>(name: Name): FunctionContext<Name> {
  const logger = createLogger((line) => void process.stdout.write(`${line}\n`));
  const reading = readSettings(name, process.env);
  if ('problem' in reading) {
    logger.log('ERROR', reading.problem);
    process.exit(1);
  }
  return { settings: reading.settings, logger };
}
