import type { Logger } from '#shared/observability/logger.ts';

/**
 * Runs work now and at each interval, unless it is still running. A failure is logged; the next interval tries again.
 */
export function runPeriodically(
  work: () => Promise<void>,
  { intervalMs, failure, logger }: { readonly intervalMs: number; readonly failure: string; readonly logger: Logger },
): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  const run = () => {
    running ??= work()
      .catch((error: unknown) => logger.log('ERROR', failure, { problem: String(error) }))
      .finally(() => {
        running = undefined;
      });
  };
  run();
  const timer = setInterval(run, intervalMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
