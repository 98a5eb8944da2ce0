import type { HttpFunction } from '@google-cloud/functions-framework';
import { getRequestListener } from '@hono/node-server';
import { type ApiPorts, createApiApp } from '#shared/api/api-app.ts';

/** The HTTP API as a function. */
export function createApi(ports: ApiPorts): HttpFunction {
  const listener = getRequestListener(createApiApp(ports).fetch);
  return async (request, response) => {
    await listener(request, response);
  };
}
