import type { PortsFor } from '#functions/function-ports.ts';
import { type ReconcilePorts, reconcile } from '#shared/use-cases/reconcile/reconcile.ts';

/** Scheduler tick → one run of the reconciler. The content of the message is not used. */
export function createWatch(ports: PortsFor<ReconcilePorts>) {
  return async (): Promise<void> => {
    await reconcile(ports, ports.clock.now());
  };
}
