import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { findObjects } from '#cli/objects/find-objects.ts';
import { formatGsUri } from '#cli/objects/gs-uri.ts';
import { createObjectClient } from '#cli/objects/object-client.ts';

export const rm: Command = {
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [{ name: 'recursive', letter: 'r', summary: 'all that is below, too' }],
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    const isDeep = invocation.isSet('recursive');
    for (const object of await findObjects(client, invocation.operands, { isDeep })) {
      await client.delete(object);
      const uri = formatGsUri(object);
      invocation.print({ json: { deleted: uri }, text: `Deleted ${uri}` });
    }
    return 0;
  },
};
