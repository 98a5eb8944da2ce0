import { type CloudStatus, createAdminClient } from '#cli/client/admin-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeEndpoints } from '#cli/render/describe-endpoints.ts';
import { formatBytes } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';

export const status: Command = {
  operands: [],
  flags: [],
  async run(invocation) {
    const { io, print } = invocation;
    const endpoints = await findCloud(invocation);
    const { vms, queues, storage } = await createAdminClient(endpoints.admin, io.interrupted).readStatus();
    const vmRows = vms.map((vm) => [vm.vmName, vm.zone, vm.status, vm.jobId, String(vm.attempt)]);
    const queueRows = queues.map(({ topic, waiting, deadLetters }) => [topic, String(waiting), String(deadLetters)]);
    const text = [
      `${describeEndpoints(endpoints)}\nbuckets    ${describeStorage(storage)}`,
      vms.length === 0 ? 'No VMs are running.' : formatTable(['VM', 'ZONE', 'STATUS', 'JOB', 'ATTEMPT'], vmRows),
      queues.length === 0 ? 'The queues are empty.' : formatTable(['TOPIC', 'WAITING', 'DEAD LETTERS'], queueRows),
    ].join('\n\n');
    print({ json: { endpoints, vms, queues, storage }, text });
    return 0;
  },
};

function describeStorage({ sizeBytes, noncurrentBytes }: CloudStatus['storage']): string {
  const noncurrent = `${formatBytes(noncurrentBytes)} of it noncurrent versions`;
  const hint = noncurrentBytes === 0 ? '' : ` (to delete them, run \`${programName()} rm -r --all-versions gs://…\`)`;
  return `${formatBytes(sizeBytes)} on disk, ${noncurrent}${hint}`;
}
