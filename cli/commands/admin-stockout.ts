import { createAdminClient } from '#cli/client/admin-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import type { Command } from '#cli/core/command.ts';

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
