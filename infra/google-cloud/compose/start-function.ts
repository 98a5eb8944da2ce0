import { format } from 'node:util';
import type { FunctionName } from '#functions/functions.ts';
import { readSettings, type SettingsOf } from '#functions/read-settings.ts';
import { type HandlerOf, registerFunction } from '#functions/register-function.ts';
import { exceptLoopback } from '#infra/network/proxy-exceptions.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';
import { maskCredentials } from '#shared/package/scan/credential-patterns.ts';

/**
 * Registers a deployed function, composed from its settings. If settings are missing or invalid, logs all of them and
 * exits with 1.
 */
export function startFunction<Name extends FunctionName>(
  name: Name,
  compose: (settings: SettingsOf<Name>, logger: Logger) => HandlerOf<Name>,
): void {
  const { PROJECT_ID: projectId, RELEASE: release } = process.env;
  const logger = createLogger((line) => void process.stdout.write(`${line}\n`), {
    ...{ mask: maskCredentials, projectId, service: name, release },
  });
  logUncaught(logger);
  exceptLoopback(process.env);
  const reading = readSettings(name, process.env);
  if ('problem' in reading) {
    logger.log('ERROR', reading.problem);
    process.exit(1);
  }
  registerFunction(name, logger, compose(reading.settings, logger));
}

/**
 * Before the functions-framework ends the process, it prints the error as plain text, which is neither masked nor of a
 * severity that an alert matches. It prints what a client did wrong in the same way, which is no error of a function.
 */
function logUncaught(logger: Logger): void {
  const log = (thrown: unknown) => logThrown(logger, thrown);
  process.prependListener('uncaughtException', log).prependListener('unhandledRejection', log);
  Object.assign(console, { error: (...values: unknown[]) => logger.log('WARNING', format(...values)) });
}
