import type { MachineContext } from '../../../infra/embedded/compute-engine/vms/machine.ts';

/** For VMs whose programs use no Google APIs. */
export const NO_GOOGLE_APIS: MachineContext['googleApis'] = {
  storage: (_, response) => void response.writeHead(501).end(),
  hasBucket: () => true,
  readPublicly: undefined,
};
