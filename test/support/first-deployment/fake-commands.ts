import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';

export type Call = { readonly command: string; readonly input: string };

/** Sends its command line and its input to the test, and prints the answer. */
const SCRIPT = (url: string) => `#!${process.execPath}
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
const [, path, ...args] = process.argv;
const input = args.includes('--data-file=-') ? await text(process.stdin) : '';
const body = JSON.stringify({ command: [basename(path, '.mjs'), ...args].join(' '), input });
const { status, stdout } = await (await fetch('${url}', { method: 'POST', body })).json();
process.stdout.write(stdout);
process.exitCode = status;
`;

/**
 * Executables \`gcloud\` and \`terraform\` in a folder for PATH. The test answers each call with what is printed;
 * an error is printed, too, and the command fails.
 */
export async function startFakeCommands(folder: string, answer: (call: Call) => Promise<string>) {
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    const call = (await json(request)) as Call;
    calls.push(call.command);
    const answered = await answer(call).then(
      (stdout) => ({ status: 0, stdout }),
      (error: Error) => ({ status: 1, stdout: `${error.message}\n` }),
    );
    response.end(JSON.stringify(answered));
  });
  const url = `http://${HOST}:${await listen(server, 0)}`;
  await mkdir(folder, { recursive: true });
  for (const name of ['gcloud', 'terraform']) {
    await writeFile(join(folder, `${name}.mjs`), SCRIPT(url), { mode: 0o755 });
    // The CLI asks for a token in every command.
    const token = '[ "$*" = "auth print-identity-token" ] && exec echo token';
    await writeFile(join(folder, name), `#!/bin/sh\n${token}\nexec ${join(folder, name)}.mjs "$@"\n`, { mode: 0o755 });
  }
  return {
    calls,
    close: () => {
      server.closeAllConnections();
      return closeServer(server);
    },
  };
}
