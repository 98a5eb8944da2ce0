import type { Context } from 'hono';
import { refuseMissing, refuseRequest } from '#infra/embedded/compute-engine/error.ts';
import { type ComputePorts, zoneOf } from '#infra/embedded/compute-engine/ports.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/vm-table.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

const REQUEST_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The VM in the path. */
export function recordOf(context: Context, ports: ComputePorts): VmRecord {
  const zone = zoneOf(context, ports);
  const vmName = context.req.param('name') ?? '';
  const record = findRecord(ports, { vmName, zone });
  if (record === undefined) {
    throw refuseMissing(ports.identity.projectId, `zones/${zone}/instances/${vmName}`);
  }
  return record;
}

export function findRecord(
  { vms }: ComputePorts,
  { vmName, zone }: Pick<VmRequest, 'vmName' | 'zone'>,
): VmRecord | undefined {
  return vms.listRecords().find(({ request }) => request.vmName === vmName && request.zone === zone);
}

/** The client's own name for a request: the same one means the same operation. */
export function requestIdOf({ req }: Context): string | null {
  const requestId = req.query('requestId');
  if (requestId !== undefined && (!REQUEST_ID.test(requestId) || /^[0-]+$/.test(requestId))) {
    throw refuseRequest(
      'invalid',
      `Invalid value for field 'requestId': '${requestId}'. It must be a UUID, and not zero.`,
    );
  }
  return requestId ?? null;
}
