import type { CloudEvent } from '@google-cloud/functions-framework';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { watch } from '#shared/pipeline/watch.ts';

/** Scheduler tick → what is due. What the tick says does not matter, that it came does. */
export function createWatch(ports: FunctionPorts) {
  return async (_event: CloudEvent<unknown>): Promise<void> => {
    await watch(ports, ports.clock.now());
  };
}
