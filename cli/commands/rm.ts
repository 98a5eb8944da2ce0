import { findTarget } from '#cli/client/find-target.ts';
import { formatGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient, findObjects } from '#cli/client/object-client.ts';
import type { Command } from '#cli/core/command.ts';

export const rm: Command = {
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [
    { name: 'recursive', letter: 'r', summary: 'all that is below, too' },
    { name: 'all-versions', letter: 'a', summary: 'what was replaced or deleted before, too: frees the disk at once' },
  ],
  notes: 'Without --all-versions the buckets keep what is deleted for a time, as noncurrent versions.',
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    const isDeep = invocation.isSet('recursive');
    const isWithVersions = invocation.isSet('all-versions');
    for (const object of await findObjects(client, invocation.operands, { isDeep, isWithVersions })) {
      await client.delete(object, isWithVersions ? object.generation : undefined);
      const uri = `${formatGsUri(object)}${isWithVersions ? `#${object.generation}` : ''}`;
      invocation.print({ json: { deleted: uri }, text: `Deleted ${uri}` });
    }
    return 0;
  },
};
