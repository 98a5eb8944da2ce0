import { findTarget } from '#cli/client/find-target.ts';
import { createObjectClient, findObjects } from '#cli/client/object-client.ts';
import { interruptible } from '#cli/core/interruptible.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

export const rm = interruptible({
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [
    { name: 'recursive', letter: 'r', summary: 'delete folders recursively' },
    {
      name: 'all-versions',
      letter: 'a',
      summary: 'also delete noncurrent versions, which frees disk space immediately',
    },
  ],
  notes: 'Without --all-versions, buckets keep deleted objects as noncurrent versions for a limited time.',
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    const isRecursive = invocation.isSet('recursive');
    const includeVersions = invocation.isSet('all-versions');
    for (const object of await findObjects(client, invocation.operands, { isRecursive, includeVersions })) {
      await client.delete({ ...object, isVersion: includeVersions });
      const uri = `${toGsUri(object)}${includeVersions ? `#${object.generation}` : ''}`;
      invocation.print({ json: { deleted: uri }, text: `Deleted ${uri}` });
    }
    return 0;
  },
});
