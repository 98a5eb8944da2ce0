import { type Context, Hono } from 'hono';
import { notFoundError } from '#infra/embedded/compute-engine/error.ts';
import { aggregatedListOf, listOf, pageOf } from '#infra/embedded/compute-engine/list.ts';
import type { OperationRecord } from '#infra/embedded/compute-engine/operation-store.ts';
import {
  type ComputePorts,
  projectContextOf,
  scopesOf,
  selfLinkOf,
  zoneOf,
} from '#infra/embedded/compute-engine/request.ts';
import { toOperationResource } from '#infra/embedded/compute-engine/resource.ts';

/** The `zoneOperations` resource of the Compute API. */
export function createOperationRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  const { operations } = ports;
  const show = (context: Context) => (operation: OperationRecord) =>
    toOperationResource(operation, projectContextOf(context, ports));

  routes.get('/aggregated/operations', (context) => {
    const page = pageOf(context, operations.readAll().map(show(context)));
    const scopes = scopesOf(context, ports);
    return context.json(aggregatedListOf(page, { kind: 'operationAggregatedList', key: 'operations', ...scopes }));
  });
  routes.get('/zones/:zone/operations', (context) => {
    const zone = zoneOf(context, ports);
    const found = operations.readAll().filter((operation) => operation.zone === zone);
    return context.json(listOf('operationList', pageOf(context, found.map(show(context))), selfLinkOf(context)));
  });
  routes.get('/zones/:zone/operations/:name', (context) => context.json(show(context)(operationOf(context, ports))));
  routes.post('/zones/:zone/operations/:name/wait', async (context) =>
    context.json(show(context)(await operations.wait(operationOf(context, ports), context.req.raw.signal))),
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
