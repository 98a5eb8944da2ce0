import { Hono } from 'hono';
import { createCatalogRoutes } from '#infra/embedded/compute-engine/catalog.ts';
import { answerComputeError, refuseMissing, refuseRequest } from '#infra/embedded/compute-engine/error.ts';
import { createInstanceActionRoutes } from '#infra/embedded/compute-engine/instance-actions.ts';
import { createInstanceRoutes } from '#infra/embedded/compute-engine/instances.ts';
import {
  createOperations,
  openOperationTable,
  settleOperations,
} from '#infra/embedded/compute-engine/operation-store.ts';
import { createOperationRoutes } from '#infra/embedded/compute-engine/operations.ts';
import type { ComputePorts } from '#infra/embedded/compute-engine/request.ts';
import { createScopeRoutes } from '#infra/embedded/compute-engine/scopes.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { createBatchRoute } from '#infra/embedded/http/batch.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** Compute API docs, "Batching requests": up to 1000 calls in one. */
const BATCH_CALLS_COUNT_MAX = 1_000;

export type ComputeEngineServerOptions = Pick<ComputePorts, 'identity' | 'vms'> & {
  readonly database: Database;
  readonly clock: Clock;
  /** Told of every fault of the cloud itself; the client only hears that there was one. */
  readonly reportFault: (error: Error) => void;
};

/**
 * Compute Engine on this machine: of its REST API under `/compute/v1` what makes, shows, changes and ends VMs, as gcloud and the
 * client libraries use it, on the VMs of the embedded cloud. Nobody is asked for credentials. Source:
 * https://cloud.google.com/compute/docs/reference/rest/v1
 */
export function createComputeEngineServer({
  identity,
  vms,
  database,
  clock,
  reportFault,
}: ComputeEngineServerOptions): Hono {
  const options = { table: openOperationTable(database), clock, reportFault };
  settleOperations(options, vms.listRecords());
  const ports: ComputePorts = { identity, vms, operations: createOperations(options) };
  const api = new Hono();
  api.use(async (context, next) => {
    const project = context.req.param('project') ?? '';
    if (project !== identity.projectId) {
      throw refuseMissing(project, '');
    }
    await next();
  });
  api
    .route('/', createInstanceRoutes(ports))
    .route('/', createInstanceActionRoutes(ports))
    .route('/', createOperationRoutes(ports))
    .route('/', createCatalogRoutes(ports))
    .route('/', createScopeRoutes(ports));

  const door = new Hono();
  door.onError(answerComputeError(reportFault));
  door.route('/compute/v1/projects/:project', api);
  door.route(
    '/batch/compute/v1',
    createBatchRoute({
      path: '/compute/v1/',
      callsCountMax: BATCH_CALLS_COUNT_MAX,
      refuse: (message) => refuseRequest('invalid', message),
      send: (request) => door.fetch(request),
    }),
  );
  door.all('/compute/*', ({ req }) => {
    throw refuseRequest('notFound', `The embedded cloud has no Compute Engine method ${req.method} ${req.path}.`);
  });
  return door;
}
