import { type AdminClient, createAdminClient, type VmAction } from '#cli/client/admin-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure, NotFound, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { isRegion } from '#shared/catalog/zones.ts';

export const adminPreempt = vmFaultCommand('preempt', 'is being preempted');
export const adminMaintain = vmFaultCommand('maintain', 'has notice of host maintenance');
export const adminReset = vmFaultCommand('reset', 'was reset');
export const adminHostError = vmFaultCommand('hostError', 'lost its host');

/** A command that injects a fault into a VM. */
function vmFaultCommand(action: VmAction, outcome: string): Command {
  return {
    operands: [
      {
        name: 'VM',
        summary: 'name of a VM, as printed by `dropforge status`, or of a job for its master',
        count: 'one',
      },
    ],
    flags: [],
    async run(invocation) {
      const { io, operands, print } = invocation;
      const { admin } = await findCloud(invocation);
      const client = createAdminClient(admin, io.interrupted);
      const name = operands[0] ?? '';
      const ofJob = (await client.readStatus()).vms.filter(({ jobId }) => jobId === name);
      const vmName = (ofJob.find((vm) => vm.vmName.includes('-master-')) ?? ofJob[0])?.vmName ?? name;
      await client.injectVmFault(vmName, action).catch((error: unknown) => {
        const remedy = `\`${programName()} status\` lists the VMs and their jobs.`;
        throw error instanceof NotFound
          ? new Failure(`No VM is called ${name}, and no VM runs the job ${name}. ${remedy}`)
          : error;
      });
      print({ json: { vmName, action }, text: `VM ${vmName} ${outcome}.` });
      return 0;
    },
  };
}

export const adminStockout = zoneFaultCommand({
  fault: 'stockout',
  set: (client, zone, isOut) => client.setStockout(zone, isOut),
  begun: 'is out of capacity',
  ended: 'has capacity again',
});

export const adminOutage = zoneFaultCommand({
  fault: 'outage',
  set: (client, zone, isOut) => client.setOutage(zone, isOut),
  begun: 'is unreachable',
  ended: 'is reachable again',
});

type ZoneFault = {
  readonly fault: string;
  readonly set: (client: AdminClient, zone: string, isOut: boolean) => Promise<void>;
  readonly begun: string;
  readonly ended: string;
};

/** A command that injects a fault into a zone, or ends it. */
function zoneFaultCommand({ fault, set, begun, ended }: ZoneFault): Command {
  return {
    operands: [{ name: 'ZONE', summary: 'name of the zone, such as us-central1-a', count: 'one' }],
    flags: [{ name: 'clear', summary: `end the ${fault}` }],
    async run(invocation) {
      const { io, operands, isSet, print } = invocation;
      const { admin } = await findCloud(invocation);
      const zone = operands[0] ?? '';
      if (isRegion(zone)) {
        throw new UsageFailure(`${zone} is a region: pass one of its zones, such as ${zone}-a.`);
      }
      const isOut = !isSet('clear');
      await set(createAdminClient(admin, io.interrupted), zone, isOut);
      const command = `${programName()} admin ${fault} ${zone} --clear`;
      print({
        json: { zone, isOut },
        text: isOut ? `Zone ${zone} ${begun}. To end the ${fault}, run \`${command}\`.` : `Zone ${zone} ${ended}.`,
      });
      return 0;
    },
  };
}
