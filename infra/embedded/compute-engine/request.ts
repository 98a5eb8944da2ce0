import type { Context } from 'hono';
import { computeError, notFoundError } from '#infra/embedded/compute-engine/error.ts';
import type { Operations } from '#infra/embedded/compute-engine/operation-store.ts';
import type { ProjectContext } from '#infra/embedded/compute-engine/resource.ts';
import type { FaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import type { EmbeddedVmProvider } from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { readBoundedText } from '#infra/embedded/http/body.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** The dependencies of the Compute Engine routes. */
export type ComputePorts = {
  readonly identity: Pick<VmIdentityIssuer, 'projectId' | 'projectNumber' | 'serviceAccountEmail'>;
  readonly vms: EmbeddedVmProvider;
  readonly operations: Operations;
  readonly outages: FaultyZones;
};

/** Metadata alone may have 512 KiB, and JSON may escape each byte as six. */
const BODY_BYTES_MAX = 4 * 2 ** 20;

export function projectContextOf(context: Context, { identity }: ComputePorts): ProjectContext {
  const { origin } = new URL(context.req.url);
  const { projectId, serviceAccountEmail } = identity;
  return { base: `${origin}/compute/v1/projects/${projectId}`, serviceAccountEmail };
}

/** The URL of the request, without the query. */
export function selfLinkOf(context: Context): string {
  const { origin, pathname } = new URL(context.req.url);
  return `${origin}${pathname}`;
}

/** The zone in the path. Throws a notFound error if there is no such zone, an internal error if it is unreachable. */
export function zoneOf(context: Context, { identity, vms, outages }: ComputePorts): string {
  const zone = context.req.param('zone') ?? '';
  if (!vms.listZones().includes(zone)) {
    throw notFoundError(identity.projectId, `zones/${zone}`);
  }
  if (outages.list().includes(zone)) {
    throw computeError('internalError', `Internal error. ${zone} could not be reached.`);
  }
  return zone;
}

/**
 * The zones of an aggregated list, and which are unreachable. Throws an internal error if some are and the client does
 * not accept partial results (Compute API, aggregatedList, `returnPartialSuccess`).
 */
export function scopesOf(context: Context, ports: ComputePorts) {
  const zones = ports.vms.listZones();
  const unreachable = ports.outages.list().filter((zone) => zones.includes(zone));
  if (unreachable.length > 0 && context.req.query('returnPartialSuccess') !== 'true') {
    throw computeError('internalError', `Internal error. ${unreachable.join(', ')} could not be reached.`);
  }
  return { zones, unreachable };
}

export async function readJsonBody({ req }: Context): Promise<unknown> {
  const text = await readBoundedText(req.raw.body ?? (async function* () {})(), BODY_BYTES_MAX);
  const body = parseJson(text);
  if (body === undefined) {
    throw computeError('invalid', 'The body of the request is not JSON.');
  }
  return body;
}

const REQUEST_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The VM in the path. Throws a notFound error if it does not exist. */
export function recordOf(context: Context, ports: ComputePorts): VmRecord {
  const zone = zoneOf(context, ports);
  const vmName = context.req.param('name') ?? '';
  const record = findRecord(ports, { vmName, zone });
  if (record === undefined) {
    throw notFoundError(ports.identity.projectId, `zones/${zone}/instances/${vmName}`);
  }
  return record;
}

export function findRecord(
  { vms }: ComputePorts,
  { vmName, zone }: Pick<VmRequest, 'vmName' | 'zone'>,
): VmRecord | undefined {
  return vms.listRecords().find(({ request }) => request.vmName === vmName && request.zone === zone);
}

/** The idempotency key of the request: requests with the same one are the same operation. */
export function requestIdOf({ req }: Context): string | null {
  const requestId = req.query('requestId');
  if (requestId !== undefined && (!REQUEST_ID.test(requestId) || /^[0-]+$/.test(requestId))) {
    throw computeError('invalid', `Invalid value for field 'requestId': '${requestId}'. It must be a nonzero UUID.`);
  }
  return requestId ?? null;
}
