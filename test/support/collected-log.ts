import { createLogger, type Logger } from '#shared/observability/logger.ts';

export type LogLine = Readonly<Record<string, unknown>>;

/** A logger that keeps its lines, parsed. */
export function collectLog(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  return { logger: createLogger((line) => void lines.push(JSON.parse(line))), lines };
}

export const noLog: Logger = createLogger(() => undefined);
