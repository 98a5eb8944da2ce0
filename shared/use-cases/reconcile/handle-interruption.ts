import { causeOf } from '#shared/domain/cause.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { HeartbeatPorts } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { reportLostReplica } from '#shared/use-cases/reconcile/report-lost-replica.ts';

export type Interruption = {
  readonly instanceId: string;
  /**
   * The audit log's method name: `compute.instances.preempted`, `hostError`, `terminateOnHostMaintenance`,
   * `guestTerminate`.
   */
  readonly methodName: string;
};

/** Handles an audit log entry that Compute Engine ended a VM: sooner than its lease expires, and with the reason. */
export async function handleInterruption(
  ports: HeartbeatPorts,
  interruption: Interruption,
  now: TimestampMs,
): Promise<void> {
  const replica = await ports.replicas.findByInstance(interruption.instanceId);
  if (replica !== undefined) {
    const isPreemption = interruption.methodName.endsWith('.preempted');
    const message = `Compute Engine ended VM ${replica.vmName}: ${interruption.methodName}.`;
    await reportLostReplica(ports, replica, {
      at: now,
      cause: causeOf(isPreemption ? 'PREEMPTED' : 'VM_TERMINATED', message),
    });
  }
}
