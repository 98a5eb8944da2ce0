import { openSecretClient } from '#cli/client/secret-client.ts';
import type { Command } from '#cli/core/command.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { formatUtc } from '#cli/render/format-time.ts';

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
