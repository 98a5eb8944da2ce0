import type { Server } from 'node:http';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { createApi } from '#functions/api.ts';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { FUNCTION_NAMES, type FunctionName, isEventFunction } from '#functions/functions.ts';
import { createHeartbeat } from '#functions/heartbeat.ts';
import { createNotify } from '#functions/notify.ts';
import { createOnControl } from '#functions/on-control.ts';
import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { createOnInterruption } from '#functions/on-interruption.ts';
import { createOnSubmit } from '#functions/on-submit.ts';
import { createOnUpload } from '#functions/on-upload.ts';
import { createProvision } from '#functions/provision.ts';
import { type HandlerOf, registerFunction } from '#functions/register-function.ts';
import { createReport } from '#functions/report.ts';
import { createTeardown } from '#functions/teardown.ts';
import { createTuning } from '#functions/tuning.ts';
import { createWatch } from '#functions/watch.ts';
import { BODY_BYTES_MAX, boundRequests } from '#infra/embedded/http/bound-requests.ts';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import { HEARTBEAT_BYTES_MAX } from '#shared/protocol/heartbeat.ts';

const HANDLERS: { readonly [Name in FunctionName]: (ports: FunctionPorts) => HandlerOf<Name> } = {
  'on-upload': createOnUpload,
  'on-submit': createOnSubmit,
  'on-control': createOnControl,
  provision: createProvision,
  teardown: createTeardown,
  tuning: createTuning,
  watch: createWatch,
  'on-interruption': createOnInterruption,
  report: createReport,
  notify: createNotify,
  'on-dead-letter': createOnDeadLetter,
  heartbeat: createHeartbeat,
  api: createApi,
};

export type FunctionServers = {
  readonly portOf: (name: FunctionName) => number;
  close(): Promise<void>;
};

/**
 * Serves every function with the real functions-framework, as Cloud Functions does, but in this process. `ports` gives
 * a fixed port to functions whose address VMs or users know; the others listen on any free one.
 */
export async function startFunctionServers(
  functionPorts: FunctionPorts,
  ports: Readonly<Partial<Record<FunctionName, number>>>,
): Promise<FunctionServers> {
  for (const name of FUNCTION_NAMES) {
    registerFunction(name, functionPorts.logger, HANDLERS[name](functionPorts));
  }
  const servers: Server[] = [];
  const boundPorts = new Map<FunctionName, number>();
  const close = async () => void (await Promise.all(servers.map(closeServer)));
  try {
    for (const name of FUNCTION_NAMES) {
      const server = getTestServer(name);
      const bytesMax = name === 'heartbeat' ? HEARTBEAT_BYTES_MAX : BODY_BYTES_MAX;
      boundRequests(server, { bytesMax, isEvent: isEventFunction(name) });
      boundPorts.set(name, await listen(server, ports[name] ?? 0));
      servers.push(server);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { portOf: (name) => boundPorts.get(name) ?? 0, close };
}
