import type { Command } from '#cli/command.ts';
import { openSecretClient } from '#cli/secrets/secret-client.ts';

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
