import { text } from 'node:stream/consumers';
import { findTarget } from '#cli/client/find-target.ts';
import { formatGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient, findObjects } from '#cli/client/object-client.ts';
import type { Command } from '#cli/core/command.ts';

export const cat: Command = {
  operands: [{ name: 'URI', summary: 'gs://BUCKET/OBJECT or a pattern', count: 'many' }],
  flags: [],
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    for (const object of await findObjects(client, invocation.operands, { isDeep: false })) {
      if (invocation.isJson) {
        const content = await text(client.open(object));
        invocation.print({ json: { uri: formatGsUri(object), content }, text: content });
      } else {
        // Byte for byte and piece by piece: an object may be no text, and larger than the memory.
        for await (const piece of client.open(object)) {
          invocation.io.stdout.write(piece);
        }
      }
    }
    return 0;
  },
};
