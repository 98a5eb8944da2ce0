import { type Context, Hono } from 'hono';
import { computeError, notFoundError, operationFailureOf } from '#infra/embedded/compute-engine/error.ts';
import { type InstanceBody, lastOf, readInstanceBody, toVmRequest } from '#infra/embedded/compute-engine/insert.ts';
import { aggregatedListOf, listOf, selectInstances } from '#infra/embedded/compute-engine/list.ts';
import type { OperationRecord, WorkOutcome } from '#infra/embedded/compute-engine/operation-store.ts';
import {
  type ComputePorts,
  findRecord,
  projectContextOf,
  readJsonBody,
  recordOf,
  requestIdOf,
  scopesOf,
  zoneOf,
} from '#infra/embedded/compute-engine/request.ts';
import { toInstanceResource, toOperationResource } from '#infra/embedded/compute-engine/resource.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';

/** The `instances` resource of the Compute API on the VMs of the embedded cloud, and `zoneOperations.wait` for them. */
export function createInstanceRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  const show = (context: Context) => (record: VmRecord) => toInstanceResource(record, projectContextOf(context, ports));
  const respond = (context: Context, operation: OperationRecord) =>
    context.json(toOperationResource(operation, projectContextOf(context, ports)));

  routes.get('/aggregated/instances', (context) => {
    const instances = selectInstances(context, ports.vms.listRecords().map(show(context)));
    return context.json(aggregatedListOf(context, instances, scopesOf(context, ports)));
  });
  routes.get('/zones/:zone/instances', (context) => {
    const zone = zoneOf(context, ports);
    const records = ports.vms.listRecords().filter(({ request }) => request.zone === zone);
    return context.json(listOf(context, selectInstances(context, records.map(show(context)))));
  });
  routes.post('/zones/:zone/instances', async (context) => respond(context, await insert(context, ports)));
  routes.get('/zones/:zone/instances/:name', (context) => context.json(show(context)(recordOf(context, ports))));
  routes.delete('/zones/:zone/instances/:name', (context) => respond(context, remove(context, ports)));
  routes.post('/zones/:zone/operations/:name/wait', async (context) =>
    respond(context, await ports.operations.wait(operationOf(context, ports), context.req.raw.signal)),
  );
  return routes;
}

function operationOf(context: Context, ports: ComputePorts): OperationRecord {
  const zone = zoneOf(context, ports);
  const name = context.req.param('name') ?? '';
  const operation = ports.operations.find(zone, name);
  if (operation === undefined) {
    throw notFoundError(ports.identity.projectId, `zones/${zone}/operations/${name}`);
  }
  return operation;
}

async function insert(context: Context, ports: ComputePorts): Promise<OperationRecord> {
  const { vms, operations, identity } = ports;
  const zone = zoneOf(context, ports);
  const given = await readJsonBody(context);
  const requestId = requestIdOf(context);
  // No await from here on: of two concurrent requests, only one can find that the name is free.
  const earlier = operations.findByRequestId(zone, requestId);
  if (earlier !== undefined) {
    return earlier;
  }
  const body = readInstanceBody(given);
  const runtime = runtimeOf(context, ports, body);
  const vmName = body.name;
  if (findRecord(ports, { vmName, zone }) !== undefined || operations.isBeingInserted(zone, vmName)) {
    const name = `projects/${identity.projectId}/zones/${zone}/instances/${vmName}`;
    throw computeError('alreadyExists', `The resource '${name}' already exists`);
  }
  const request = toVmRequest(body, { zone, runtime, defaultAccount: identity.serviceAccountEmail });
  return operations.start(
    { type: 'insert', zone, vmName, targetId: null, requestId },
    async (): Promise<WorkOutcome> => {
      const created = await vms.create(request);
      return created.outcome === 'FAILED'
        ? { failure: operationFailureOf(created.failure, request) }
        : { targetId: created.instanceId };
    },
  );
}

/** The runtime that the VM boots from; each is available as a machine image and as an image. */
function runtimeOf(context: Context, { vms, identity }: ComputePorts, body: InstanceBody): string {
  const machineImage = context.req.query('sourceMachineImage') ?? body.sourceMachineImage;
  const image = body.disks[0]?.initializeParams?.sourceImage;
  const source = machineImage || image;
  if (source === undefined || source === '') {
    throw computeError('invalid', "Invalid value for field 'resource.disks': ''. Boot disk must be specified.");
  }
  const collection = machineImage ? 'machineImages' : 'images';
  const [, project = identity.projectId] = /(?:^|\/)projects\/([^/]+)\//.exec(source) ?? [];
  const isKnown = project === identity.projectId && vms.listMachineImages().includes(lastOf(source));
  if (!isKnown) {
    throw notFoundError(project, `global/${collection}/${lastOf(source)}`);
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
      // Each call returns after the VM's stop grace period at the latest.
      while ((await vms.delete({ vmName, zone })) === 'DELETING');
      return { targetId: instanceId };
    })
  );
}
