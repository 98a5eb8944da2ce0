import { createAdminClient, type VmAction } from '#cli/client/admin-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';

export const adminPreempt = vmFaultCommand('preempt', 'is being preempted');
export const adminReset = vmFaultCommand('reset', 'was reset');
export const adminHostError = vmFaultCommand('hostError', 'lost its host');

/** A command that injects a fault into a VM. */
function vmFaultCommand(action: VmAction, outcome: string): Command {
  return {
    operands: [{ name: 'VM', summary: 'name of the VM, as printed by `dropforge status`', count: 'one' }],
    flags: [],
    async run(invocation) {
      const { io, operands, print } = invocation;
      const { admin } = await findCloud(invocation);
      const vmName = operands[0] ?? '';
      await createAdminClient(admin, io.interrupted).injectVmFault(vmName, action);
      print({ json: { vmName, action }, text: `VM ${vmName} ${outcome}.` });
      return 0;
    },
  };
}

export const adminStockout: Command = {
  operands: [{ name: 'ZONE', summary: 'name of the zone, such as us-central1-a', count: 'one' }],
  flags: [{ name: 'clear', summary: 'end the stockout' }],
  async run(invocation) {
    const { io, operands, isSet, print } = invocation;
    const { admin } = await findCloud(invocation);
    const zone = operands[0] ?? '';
    const isOut = !isSet('clear');
    await createAdminClient(admin, io.interrupted).setStockout(zone, isOut);
    print({
      json: { zone, isOut },
      text: isOut
        ? `Zone ${zone} is out of capacity. To end the stockout, run \`${programName()} admin stockout ${zone} --clear\`.`
        : `Zone ${zone} has capacity again.`,
    });
    return 0;
  },
};
