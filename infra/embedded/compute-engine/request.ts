import type { Context } from 'hono';
import { refuseMissing, refuseRequest } from '#infra/embedded/compute-engine/error.ts';
import type { Operations } from '#infra/embedded/compute-engine/operation-store.ts';
import type { Place } from '#infra/embedded/compute-engine/resource.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import type { EmbeddedVmProvider } from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { readBoundedText } from '#infra/embedded/http/body.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** What the routes of the Compute Engine door work on. */
export type ComputePorts = {
  readonly identity: Pick<VmIdentityIssuer, 'projectId' | 'projectNumber' | 'serviceAccountEmail'>;
  readonly vms: EmbeddedVmProvider;
  readonly operations: Operations;
};

/** Metadata alone may have 512 KiB, and JSON may write every byte as six. */
const BODY_BYTES_MAX = 4 * 2 ** 20;

export function placeOf(context: Context, { identity }: ComputePorts): Place {
  const { origin } = new URL(context.req.url);
  const { projectId, serviceAccountEmail } = identity;
  return { base: `${origin}/compute/v1/projects/${projectId}`, serviceAccountEmail };
}

/** The address of what was asked for, without the query. */
export function selfLinkOf(context: Context): string {
  const { origin, pathname } = new URL(context.req.url);
  return `${origin}${pathname}`;
}

/** The zone in the path, which must be one of this cloud's. */
export function zoneOf(context: Context, { identity, vms }: ComputePorts): string {
  const zone = context.req.param('zone') ?? '';
  if (!vms.describeZones().some(({ name }) => name === zone)) {
    throw refuseMissing(identity.projectId, `zones/${zone}`);
  }
  return zone;
}

export function zoneNamesOf({ vms }: ComputePorts): readonly string[] {
  return vms.describeZones().map(({ name }) => name);
}

export async function readJsonBody({ req }: Context): Promise<unknown> {
  const text = await readBoundedText(req.raw.body ?? (async function* () {})(), BODY_BYTES_MAX);
  const body = parseJson(text);
  if (body === undefined) {
    throw refuseRequest('invalid', 'The body of the request is not JSON.');
  }
  return body;
}

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
