import { type Context, Hono } from 'hono';
import { notFoundError } from '#infra/embedded/compute-engine/error.ts';
import type { OperationRecord } from '#infra/embedded/compute-engine/operation-store.ts';
import { type ComputePorts, projectContextOf, zoneOf } from '#infra/embedded/compute-engine/request.ts';
import { toOperationResource } from '#infra/embedded/compute-engine/resource.ts';

/** Waiting for operations: `zoneOperations.wait` of the Compute API, which gcloud and Dropforge use. */
export function createOperationRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  routes.post('/zones/:zone/operations/:name/wait', async (context) => {
    const operation = await ports.operations.wait(operationOf(context, ports), context.req.raw.signal);
    return context.json(toOperationResource(operation, projectContextOf(context, ports)));
  });
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
