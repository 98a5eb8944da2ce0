import { resolve } from 'node:path';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { isGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import type { Command } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { orInterrupted } from '#cli/core/interruptible.ts';
import { printReports } from '#cli/submit/print-reports.ts';
import { didYouMeanUri } from '#shared/protocol/gs-uri.ts';

export const cp: Command = {
  operands: [
    { name: 'PATH', summary: 'sources, followed by the destination: files or gs://BUCKET/OBJECT', count: 'many' },
  ],
  example: '-r gs://dropforge-local-jobs/digits .',
  flags: [{ name: 'recursive', letter: 'r', summary: 'copy folders with their contents' }],
  notes:
    'Copying a job file, or a package with a job.yaml at its root, to the upload bucket submits it.' +
    ' The job id, the address of the report and the command that follows the job are printed.',
  async run(invocation) {
    const sources = invocation.operands.slice(0, -1);
    const target = invocation.operands.at(-1) ?? '';
    if (sources.length === 0) {
      throw new UsageFailure('cp requires a source and a destination: dropforge cp SOURCE... DESTINATION');
    }
    if (![target, ...sources].some(isGsUri)) {
      const meant = [target, ...sources].map(didYouMeanUri).find((one) => one !== '') ?? '';
      throw new UsageFailure(`The source or the destination must be in a bucket: gs://BUCKET/OBJECT.${meant}`);
    }
    if ([target, ...sources].includes('-')) {
      throw new UsageFailure("'-' is not supported: to print objects use `dropforge cat`; to upload, pass a file.");
    }
    const found = await findTarget(invocation);
    const client = createObjectClient(found);
    const toLocal = (path: string) =>
      isGsUri(path) ? path : resolve(invocation.io.cwd, path) + (path.endsWith('/') ? '/' : '');
    const copyAll = async () => {
      const isRecursive = invocation.isSet('recursive');
      const copies = await planCopies(client, { sources: sources.map(toLocal), target: toLocal(target), isRecursive });
      for (const copy of copies) {
        await runCopy(client, copy);
        invocation.print({ json: copy, text: `Copied ${copy.from} to ${copy.to}` });
      }
      return copies;
    };
    const copies = await orInterrupted(invocation.io.interrupted, copyAll());
    await printReports(invocation, { client, uploadBucket: found.uploadBucket, copies });
    return 0;
  },
};
