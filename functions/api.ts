import type { HttpFunction } from '@google-cloud/functions-framework';
import { getRequestListener } from '@hono/node-server';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { createApiApp } from '#shared/api/api-app.ts';

/** The HTTP API as a function. */
export function createApi(ports: FunctionPorts): HttpFunction {
  const listener = getRequestListener(createApiApp(ports).fetch);
  return async (request, response) => {
    await listener(request, response);
  };
}
