import type { FunctionName } from '#functions/functions.ts';
import { readSettings, type SettingsOf } from '#functions/read-settings.ts';
import { type HandlerOf, registerFunction } from '#functions/register-function.ts';
import { exceptLoopback } from '#infra/network/proxy-exceptions.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';
import { maskCredentials } from '#shared/package/scan/credential-patterns.ts';

/** Input of an entry point's composition: the function's settings and logger. */
export type FunctionContext<Name extends FunctionName> = {
  readonly settings: SettingsOf<Name>;
  readonly logger: Logger;
};

/**
 * Registers a deployed function, composed from its settings. If settings are missing or invalid, logs all of them and
 * exits with 1.
 */
export function startFunction<Name extends FunctionName>(
  name: Name,
  compose: (context: FunctionContext<Name>) => HandlerOf<Name>,
): void {
  const { PROJECT_ID: projectId, RELEASE: release } = process.env;
  const logger = createLogger((line) => void process.stdout.write(`${line}\n`), {
    ...{ mask: maskCredentials, projectId, service: name, release },
  });
  exceptLoopback(process.env);
  const reading = readSettings(name, process.env);
  if ('problem' in reading) {
    logger.log('ERROR', reading.problem);
    process.exit(1);
  }
  registerFunction(name, logger, compose({ settings: reading.settings, logger }));
}
