import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { readStart } from '#cli/client/read-start.ts';
import { openSecretClient } from '#cli/client/secret-client.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { describeFileError, Failure, UsageFailure } from '#cli/core/failure.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { SECRET_BYTES_MAX } from '#infra/embedded/secret-manager/secret-store.ts';
import { formatUtc } from '#shared/text/format-time.ts';

const PASS_VALUE =
  'Type it on standard input and end it with Ctrl-D twice, `dropforge secrets create NAME --data-file=-`, or pass a file with --data-file=FILE.';

export const secretsCreate: Command = {
  operands: [{ name: 'NAME', summary: 'name of the secret: letters, digits, "_" and "-"', count: 'one' }],
  excess: `A value on the command line stays in the history of the shell. ${PASS_VALUE}`,
  example: 'hf-token --data-file=token.txt',
  flags: [{ name: 'data-file', value: 'FILE', summary: 'file that contains the value, or - for standard input' }],
  notes: 'The value is stored unencrypted. Jobs of the embedded cloud can reference it in `secrets`.',
  async run(invocation) {
    const client = await openSecretClient(invocation);
    const [name = ''] = invocation.operands;
    await client.create(name, await readValue(invocation));
    invocation.print({ json: { created: name }, text: `Created secret ${name}.` });
    return 0;
  },
};

/** Reads all bytes of the file, including a trailing newline, as gcloud does. */
async function readValue({ flag, io }: Invocation): Promise<Uint8Array> {
  const file = flag('data-file');
  if (file === undefined || file === '') {
    throw new UsageFailure(`--data-file is missing. ${PASS_VALUE}`);
  }
  const stream = file === '-' ? io.openStdin() : createReadStream(resolve(io.cwd, file));
  const value = await readStart(stream, SECRET_BYTES_MAX).catch((error: unknown) => {
    throw new Failure(`The value cannot be read (${describeFileError(error)}): check --data-file.`);
  });
  if (value.byteLength === 0 || value.byteLength > SECRET_BYTES_MAX) {
    throw new Failure(`The value must have between 1 and ${SECRET_BYTES_MAX} bytes: check --data-file.`);
  }
  return value;
}

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

export const secretsDelete: Command = {
  operands: [{ name: 'NAME', summary: 'name of the secret; all of its versions are deleted', count: 'one' }],
  flags: [],
  async run(invocation) {
    const [name = ''] = invocation.operands;
    await (await openSecretClient(invocation)).delete(name);
    invocation.print({ json: { deleted: name }, text: `Deleted secret ${name}.` });
    return 0;
  },
};
