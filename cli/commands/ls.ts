import { findTarget } from '#cli/client/find-target.ts';
import { isPattern, readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient, type ObjectClient, type StoredObject } from '#cli/client/object-client.ts';
import type { Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { interruptible } from '#cli/core/interruptible.ts';
import { formatTable } from '#cli/render/format-table.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

export const ls = interruptible({
  operands: [
    { name: 'URI', summary: 'gs://BUCKET/FOLDER or a pattern (default: list the buckets)', count: 'optional' },
  ],
  example: '-l gs://dropforge-local-jobs/digits/',
  flags: [
    { name: 'recursive', letter: 'r', summary: 'list folders recursively' },
    { name: 'long', letter: 'l', summary: 'also print size in bytes and update time' },
    { name: 'all-versions', letter: 'a', summary: 'include noncurrent (replaced or deleted) versions' },
  ],
  notes: 'Patterns: * and ? match within a folder, ** across folders. Quote them to prevent expansion by the shell.',
  async run(invocation) {
    const [uri] = invocation.operands;
    if (uri === undefined && ['recursive', 'long', 'all-versions'].some(invocation.isSet)) {
      throw new UsageFailure('The flags of ls are for objects: name a bucket or folder, gs://BUCKET/FOLDER.');
    }
    const client = createObjectClient(await findTarget(invocation));
    if (uri === undefined) {
      const buckets = await client.listBuckets();
      print(invocation, { folders: buckets.map((bucket) => `gs://${bucket}/`), objects: [] });
      return 0;
    }
    const listing = await list(client, readGsUri(uri), {
      isRecursive: invocation.isSet('recursive'),
      includeVersions: invocation.isSet('all-versions'),
    });
    if (listing.objects.length === 0 && listing.folders.length === 0 && readGsUri(uri).name !== '') {
      throw new Failure(`No object matches ${uri}.`);
    }
    print(invocation, listing);
    return 0;
  },
});

type Listing = { readonly folders: readonly string[]; readonly objects: readonly StoredObject[] };

type Scope = { readonly isRecursive: boolean; readonly includeVersions: boolean };

async function list(client: ObjectClient, uri: ObjectName, scope: Scope): Promise<Listing> {
  const found = await client.find(uri, scope);
  if (scope.isRecursive || isPattern(uri.name) || (found.length > 0 && !uri.name.endsWith('/'))) {
    return { folders: [], objects: found };
  }
  const { folders, objects } = await client.listFolder(uri, scope);
  return { folders: folders.map((name) => toGsUri({ bucket: uri.bucket, name })), objects };
}

function print({ print: write, isSet }: Invocation, { folders, objects }: Listing): void {
  const entries = objects.map(({ sizeBytes, updateTime, generation, ...uri }) => ({
    uri: `${toGsUri(uri)}${isSet('all-versions') ? `#${generation}` : ''}`,
    sizeBytes,
    updateTime,
  }));
  const rows = [
    ...entries.map(({ uri, sizeBytes, updateTime }) => [String(sizeBytes), updateTime, uri]),
    ...folders.map((uri) => ['', '', uri]),
  ];
  const text = isSet('long') ? formatTable(['BYTES', 'UPDATED', 'URI'], rows) : rows.map((row) => row[2]).join('\n');
  write({ json: { folders, objects: entries }, text });
}
