import { createAdminClient, type VmAction } from '#cli/client/admin-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';

export const adminPreempt = disturbance('preempt', 'is being preempted');
export const adminReset = disturbance('reset', 'was reset');
export const adminHostError = disturbance('hostError', 'was lost with its host');

function disturbance(action: VmAction, outcome: string): Command {
  return {
    operands: [{ name: 'VM', summary: 'the name of the VM, as `dropforge status` shows it', count: 'one' }],
    flags: [],
    async run(invocation) {
      const { io, operands, print } = invocation;
      const { admin } = await findCloud(invocation);
      const vmName = operands[0] ?? '';
      await createAdminClient(admin, io.interrupted).disturbVm(vmName, action);
      print({ json: { vmName, action }, text: `VM ${vmName} ${outcome}.` });
      return 0;
    },
  };
}

export const adminStockout: Command = {
  operands: [{ name: 'ZONE', summary: 'the zone, such as us-central1-a', count: 'one' }],
  flags: [{ name: 'clear', summary: 'end it: the zone has capacity again' }],
  async run(invocation) {
    const { io, operands, isSet, print } = invocation;
    const { admin } = await findCloud(invocation);
    const zone = operands[0] ?? '';
    const isOut = !isSet('clear');
    await createAdminClient(admin, io.interrupted).setStockout(zone, isOut);
    print({
      json: { zone, isOut },
      text: isOut ? `Zone ${zone} has no capacity now.` : `Zone ${zone} has capacity again.`,
    });
    return 0;
  },
};
