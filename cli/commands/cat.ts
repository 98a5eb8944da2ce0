import { text } from 'node:stream/consumers';
import { findTarget } from '#cli/client/find-target.ts';
import { createObjectClient, findObjects } from '#cli/client/object-client.ts';
import { interruptible } from '#cli/core/interruptible.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

export const cat = interruptible({
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [],
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    for (const object of await findObjects(client, invocation.operands, { isRecursive: false })) {
      if (invocation.isJson) {
        const content = await text(client.open(object));
        invocation.print({ json: { uri: toGsUri(object), content }, text: content });
      } else {
        // Streamed as bytes: objects can be binary and larger than memory.
        const decoder = new TextDecoder();
        const { stdout } = invocation.io;
        for await (const chunk of client.open(object)) {
          // A terminal shows control characters as text; a pipe or a file gets the bytes.
          stdout.write(stdout.terminal === null ? chunk : decoder.decode(chunk, { stream: true }));
        }
      }
    }
    return 0;
  },
});
