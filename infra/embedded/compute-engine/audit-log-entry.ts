import type { InterruptionMethod } from '#infra/embedded/compute-engine/vms/machine.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';

/** Compute Engine's audit log entry for an interrupted VM, as the log sink exports it; `at` is in milliseconds. */
export function auditLogEntryOf(
  { vmName, zone, instanceId }: Vm,
  {
    projectId,
    methodName,
    at,
  }: { readonly projectId: string; readonly methodName: InterruptionMethod; readonly at: number },
) {
  return {
    insertId: `${instanceId}-${methodName}`,
    timestamp: new Date(at).toISOString(),
    resource: { type: 'gce_instance', labels: { instance_id: instanceId, zone, project_id: projectId } },
    protoPayload: {
      serviceName: 'compute.googleapis.com',
      methodName,
      resourceName: `projects/${projectId}/zones/${zone}/instances/${vmName}`,
    },
  };
}
