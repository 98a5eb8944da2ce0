import type { Command } from '#cli/command.ts';
import { formatTable } from '#cli/output/format-table.ts';
import { formatUtc } from '#cli/output/format-time.ts';
import { openSecretClient } from '#cli/secrets/secret-client.ts';

export const secretsList: Command = {
  operands: [],
  flags: [],
  async run(invocation) {
    const secrets = await (await openSecretClient(invocation)).list();
    const rows = secrets.map(({ name, createTime }) => [name, formatUtc(createTime)]);
    const text = rows.length === 0 ? 'There are no secrets.' : formatTable(['NAME', 'CREATED'], rows);
    invocation.print({ json: secrets, text });
    return 0;
  },
};
