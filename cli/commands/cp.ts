import { resolve } from 'node:path';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import type { Command } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';

export const cp: Command = {
  operands: [
    { name: 'PATH', summary: 'what to copy, and last of all where to: files or gs://BUCKET/OBJECT', count: 'many' },
  ],
  flags: [{ name: 'recursive', letter: 'r', summary: 'folders with all that is below' }],
  notes: 'Copying a package with a job.yaml in its root, or a job file, into the upload bucket submits it.',
  async run(invocation) {
    const sources = invocation.operands.slice(0, -1);
    const target = invocation.operands.at(-1) ?? '';
    if (sources.length === 0) {
      throw new UsageFailure('cp needs a source and a destination: dropforge cp SOURCE... DESTINATION');
    }
    if (![target, ...sources].some(isGsUri)) {
      throw new UsageFailure('None of these is in a bucket: one side must be gs://BUCKET/OBJECT.');
    }
    if ([target, ...sources].includes('-')) {
      throw new UsageFailure("'-' is not taken: `dropforge cat` prints objects, and what is copied up is a file.");
    }
    const client = createObjectClient(await findTarget(invocation));
    const toLocal = (path: string) =>
      isGsUri(path) ? path : resolve(invocation.io.cwd, path) + (path.endsWith('/') ? '/' : '');
    const copies = await planCopies(client, {
      sources: sources.map(toLocal),
      target: toLocal(target),
      isDeep: invocation.isSet('recursive'),
    });
    for (const copy of copies) {
      await runCopy(client, copy);
      invocation.print({ json: copy, text: `Copied ${copy.from} to ${copy.to}` });
    }
    return 0;
  },
};
