import { resolveMachine } from '#shared/catalog/resolve-machine.ts';

export function machineOf(choice: Parameters<typeof resolveMachine>[0]) {
  const resolution = resolveMachine(choice);
  if ('rejection' in resolution) {
    throw new Error(`rejected: ${resolution.rejection.reason}`);
  }
  return resolution;
}

export const gpus = (type: string, count: number) => ({ type, count });
export const t4 = (count: number) => gpus('nvidia-tesla-t4', count);
