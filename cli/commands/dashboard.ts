import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findTarget } from '#cli/client/find-target.ts';
import type { Command, Invocation } from '#cli/core/command.ts';

/** The system's command that opens an address in the browser. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };
const OPENER_OF_OTHERS = 'xdg-open';

export const dashboard: Command = {
  operands: [],
  example: '--open',
  flags: [{ name: 'open', summary: 'open the address in the browser' }],
  notes:
    'For a deployment, serves the page on this machine with your identity until Ctrl-C is pressed; the address works once.',
  async run(invocation) {
    const { io } = invocation;
    const { api } = await findTarget(invocation);
    if (invocation.deployment === undefined) {
      const address = `${api.url}/`;
      await show(invocation, { address, opened: address });
      return 0;
    }
    const { startPageProxy } = await import('#cli/client/page-proxy.ts');
    // Fails before an address is printed if there are no credentials.
    await api.authorize();
    const proxy = await startPageProxy(api);
    const { writeAddressFile } = await import('#cli/client/address-file.ts');
    const file = await writeAddressFile(proxy.address);
    try {
      await show(invocation, { address: proxy.address, opened: file.path });
      io.stderr.write('The page is served on this machine. Press Ctrl-C to stop it.\n');
      if (!io.interrupted.aborted) {
        await once(io.interrupted, 'abort');
      }
    } finally {
      await file.remove();
      await proxy.close();
    }
    return 0;
  },
};

type Shown = {
  readonly address: string;
  /** The argument of the system's opener: the address, or a file that leads to it. */
  readonly opened: string;
};

async function show({ io, print, isSet }: Invocation, { address, opened }: Shown): Promise<void> {
  print({ json: { address }, text: address });
  if (isSet('open') && !(await openInBrowser(opened))) {
    io.stderr.write('No browser could be opened: open the address yourself.\n');
  }
}

/** Whether the system's opener was started. */
async function openInBrowser(opened: string): Promise<boolean> {
  const opener = spawn(OPENERS[process.platform] ?? OPENER_OF_OTHERS, [opened], { stdio: 'ignore', detached: true });
  const isStarted = await Promise.race([
    once(opener, 'spawn').then(() => true),
    once(opener, 'error').then(() => false),
  ]).catch(() => false);
  opener.unref();
  return isStarted;
}
