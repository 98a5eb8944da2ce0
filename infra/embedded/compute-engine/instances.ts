import { type Context, Hono } from 'hono';
import { failureOf, refuseMissing, refuseRequest } from '#infra/embedded/compute-engine/error.ts';
import { type InstanceBody, lastOf, readInstanceBody, toVmRequest } from '#infra/embedded/compute-engine/insert.ts';
import { aggregatedListOf, listOf, pageOf } from '#infra/embedded/compute-engine/list.ts';
import type { OperationRecord, WorkOutcome } from '#infra/embedded/compute-engine/operation-store.ts';
import {
  type ComputePorts,
  findRecord,
  placeOf,
  readJsonBody,
  recordOf,
  requestIdOf,
  selfLinkOf,
  zoneNamesOf,
  zoneOf,
} from '#infra/embedded/compute-engine/request.ts';
import { toInstanceResource, toOperationResource } from '#infra/embedded/compute-engine/resource.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';

/** `instances` of the Compute API, on the VMs that the rest of the embedded cloud has. */
export function createInstanceRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  const show = (context: Context) => (record: VmRecord) => toInstanceResource(record, placeOf(context, ports));
  const answer = (context: Context, operation: OperationRecord) =>
    context.json(toOperationResource(operation, placeOf(context, ports)));

  routes.get('/aggregated/instances', (context) => {
    const page = pageOf(context, ports.vms.listRecords().map(show(context)));
    const zones = zoneNamesOf(ports);
    const selfLink = selfLinkOf(context);
    return context.json(aggregatedListOf(page, { kind: 'instanceAggregatedList', key: 'instances', zones, selfLink }));
  });
  routes.get('/zones/:zone/instances', (context) => {
    const zone = zoneOf(context, ports);
    const records = ports.vms.listRecords().filter(({ request }) => request.zone === zone);
    return context.json(listOf('instanceList', pageOf(context, records.map(show(context))), selfLinkOf(context)));
  });
  routes.post('/zones/:zone/instances', async (context) => answer(context, await insert(context, ports)));
  routes.get('/zones/:zone/instances/:name', (context) => context.json(show(context)(recordOf(context, ports))));
  routes.delete('/zones/:zone/instances/:name', (context) => answer(context, remove(context, ports)));
  routes.get('/zones/:zone/instances/:name/serialPort', async (context) => {
    const { request } = recordOf(context, ports);
    const text = (await ports.vms.serialPort(request.vmName, request.zone)) ?? '';
    return context.json({ ...readSerialOutput(context, Buffer.from(text)), selfLink: selfLinkOf(context) });
  });
  return routes;
}

async function insert(context: Context, ports: ComputePorts): Promise<OperationRecord> {
  const { vms, operations, identity } = ports;
  const zone = zoneOf(context, ports);
  const given = await readJsonBody(context);
  const requestId = requestIdOf(context);
  // From here on nothing is waited for: two requests at once cannot both find that there is none before them.
  const earlier = operations.findByRequestId(zone, requestId);
  if (earlier !== undefined) {
    return earlier;
  }
  const body = readInstanceBody(given);
  const runtime = runtimeOf(context, ports, body);
  const vmName = body.name;
  if (findRecord(ports, { vmName, zone }) !== undefined || operations.isBeingInserted(zone, vmName)) {
    const name = `projects/${identity.projectId}/zones/${zone}/instances/${vmName}`;
    throw refuseRequest('alreadyExists', `The resource '${name}' already exists`);
  }
  const request = toVmRequest(body, zone, runtime);
  return operations.start(
    { type: 'insert', zone, vmName, targetId: null, requestId },
    async (): Promise<WorkOutcome> => {
      const made = await vms.create(request);
      return made.outcome === 'FAILED' ? { failure: failureOf(made.failure, request) } : { targetId: made.instanceId };
    },
  );
}

/** The runtime that the VM boots from: the embedded cloud has each of them as a machine image and as an image. */
function runtimeOf(context: Context, { vms, identity }: ComputePorts, body: InstanceBody): string {
  const machineImage = context.req.query('sourceMachineImage') ?? body.sourceMachineImage;
  const image = body.disks[0]?.initializeParams?.sourceImage;
  const source = machineImage || image;
  if (source === undefined || source === '') {
    throw refuseRequest('invalid', "Invalid value for field 'resource.disks': ''. Boot disk must be specified.");
  }
  const collection = machineImage ? 'machineImages' : 'images';
  const [, project = identity.projectId] = /(?:^|\/)projects\/([^/]+)\//.exec(source) ?? [];
  const isKnown = project === identity.projectId && vms.listMachineImages().includes(lastOf(source));
  if (!isKnown) {
    throw refuseMissing(project, `global/${collection}/${lastOf(source)}`);
  }
  return lastOf(source);
}

function remove(context: Context, ports: ComputePorts): OperationRecord {
  const { vms, operations } = ports;
  const { request, instanceId } = recordOf(context, ports);
  const { zone, vmName } = request;
  const requestId = requestIdOf(context);
  const earlier = operations.findByRequestId(zone, requestId);
  const start = { type: 'delete', zone, vmName, targetId: instanceId, requestId } as const;
  return (
    earlier ??
    operations.start(start, async () => {
      // It answers after the grace of a VM at the latest.
      while ((await vms.delete({ vmName, zone })) === 'DELETING');
      return { targetId: instanceId };
    })
  );
}

/** Bytes from `start` on; below 0 counts from the end. Port 1 is what the VM writes, 2 to 4 say nothing. */
function readSerialOutput({ req }: Context, written: Buffer) {
  const port = Number(req.query('port') ?? 1);
  const start = Number(req.query('start') ?? 0);
  if (![1, 2, 3, 4].includes(port) || !Number.isInteger(start)) {
    throw refuseRequest(
      'invalid',
      "Invalid value for field 'port' or 'start': ports are 1 to 4, start a byte's place.",
    );
  }
  const bytes = port === 1 ? written : Buffer.alloc(0);
  const from = Math.min(start < 0 ? Math.max(0, bytes.length + start) : start, bytes.length);
  return {
    kind: 'compute#serialPortOutput',
    contents: bytes.subarray(from).toString(),
    start: String(from),
    next: String(bytes.length),
  };
}
