import type { Server } from 'node:http';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import type { FunctionPorts } from '#functions/function-ports.ts';
import {
  type EventFunctionName,
  type FunctionName,
  HTTP_FUNCTIONS,
  registerFunctions,
  SUBSCRIPTIONS,
} from '#functions/index.ts';
import { closeServer, listen } from '#infra/embedded/http/server.ts';

export type FunctionServers = {
  readonly portOf: (name: FunctionName) => number;
  close(): Promise<void>;
};

/**
 * Every function in a server of the real functions-framework, as Cloud Functions runs them, but in this process. `ports`
 * gives those a fixed port that VMs or users know; the others take any.
 */
export async function startFunctionServers(
  functionPorts: FunctionPorts,
  ports: Readonly<Partial<Record<FunctionName, number>>>,
): Promise<FunctionServers> {
  registerFunctions(functionPorts);
  const names = [...(Object.keys(SUBSCRIPTIONS) as EventFunctionName[]), ...HTTP_FUNCTIONS];
  const servers: Server[] = [];
  const boundPorts = new Map<FunctionName, number>();
  const close = async () => void (await Promise.all(servers.map(closeServer)));
  try {
    for (const name of names) {
      const server = getTestServer(name);
      boundPorts.set(name, await listen(server, ports[name] ?? 0));
      servers.push(server);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { portOf: (name) => boundPorts.get(name) ?? 0, close };
}
