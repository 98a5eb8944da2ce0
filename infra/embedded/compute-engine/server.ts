import { Hono } from 'hono';
import { computeError, createErrorHandler, notFoundError } from '#infra/embedded/compute-engine/error.ts';
import { createInstanceRoutes } from '#infra/embedded/compute-engine/instances.ts';
import {
  createOperations,
  openOperationTable,
  recoverOperations,
} from '#infra/embedded/compute-engine/operation-store.ts';
import type { ComputePorts } from '#infra/embedded/compute-engine/request.ts';
import { openFaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { createBatchRoute } from '#infra/embedded/http/batch.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** Compute API docs, "Batching requests": at most 1000 calls per batch. */
const BATCH_CALLS_COUNT_MAX = 1_000;

export type ComputeEngineServerOptions = Pick<ComputePorts, 'identity' | 'vms'> & {
  readonly database: Database;
  readonly clock: Clock;
  /** Receives every internal error of the cloud; the client gets a generic message. */
  readonly reportError: (error: Error) => void;
};

/**
 * The Compute Engine emulator: the methods of the REST API under `/compute/v1` that create, list, describe and delete
 * VMs, as Dropforge and `gcloud compute instances` use them, on the VMs of the embedded cloud. Requests need no
 * credentials.
 * Source: https://cloud.google.com/compute/docs/reference/rest/v1
 */
export function createComputeEngineServer({
  identity,
  vms,
  database,
  clock,
  reportError,
}: ComputeEngineServerOptions): Hono {
  const options = { table: openOperationTable(database), clock, reportError };
  recoverOperations(options, vms.listRecords());
  const ports: ComputePorts = {
    identity,
    vms,
    operations: createOperations(options),
    outages: openFaultyZones(database, 'zone_outages'),
  };
  const api = new Hono();
  api.use(async (context, next) => {
    const project = context.req.param('project') ?? '';
    if (project !== identity.projectId) {
      throw notFoundError(project, '');
    }
    await next();
  });
  api.route('/', createInstanceRoutes(ports));

  const app = new Hono();
  app.onError(createErrorHandler(reportError));
  app.route('/compute/v1/projects/:project', api);
  app.route(
    '/batch/compute/v1',
    createBatchRoute({
      path: '/compute/v1/',
      callsCountMax: BATCH_CALLS_COUNT_MAX,
      toError: (message) => computeError('invalid', message),
      send: (request) => app.fetch(request),
    }),
  );
  app.all('/compute/*', ({ req }) => {
    throw computeError(
      'notFound',
      `The embedded cloud does not support the Compute Engine method ${req.method} ${req.path}. Those that it supports are in docs/embedded-cloud.md.`,
    );
  });
  return app;
}
