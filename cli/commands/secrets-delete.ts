import { openSecretClient } from '#cli/client/secret-client.ts';
import type { Command } from '#cli/core/command.ts';

export const secretsDelete: Command = {
  operands: [{ name: 'NAME', summary: 'the secret, with all of its versions', count: 'one' }],
  flags: [],
  async run(invocation) {
    const [name = ''] = invocation.operands;
    await (await openSecretClient(invocation)).delete(name);
    invocation.print({ json: { deleted: name }, text: `Deleted secret ${name}.` });
    return 0;
  },
};
