import { text } from 'node:stream/consumers';
import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { findObjects } from '#cli/objects/find-objects.ts';
import { formatGsUri } from '#cli/objects/gs-uri.ts';
import { createObjectClient } from '#cli/objects/object-client.ts';

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
