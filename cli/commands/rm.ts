import { findTarget } from '#cli/client/find-target.ts';
import { createObjectClient, findObjects } from '#cli/client/object-client.ts';
import { defineFlag } from '#cli/core/command.ts';
import { interruptible } from '#cli/core/interruptible.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

export const rm = interruptible({
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [
    defineFlag('recursive', 'delete folders recursively', { letter: 'r' }),
    defineFlag('all-versions', 'also delete noncurrent versions, which frees disk space immediately', { letter: 'a' }),
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
