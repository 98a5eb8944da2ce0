import { findTarget } from '#cli/client/find-target.ts';
import { formatGsUri, type GsUri, isPattern, parseGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient, type ObjectClient, type StoredObject } from '#cli/client/object-client.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { formatTable } from '#cli/render/format-table.ts';

export const ls: Command = {
  operands: [{ name: 'URI', summary: 'gs://BUCKET/FOLDER or a pattern; without one, the buckets', count: 'optional' }],
  flags: [
    { name: 'recursive', letter: 'r', summary: 'all that is below, too' },
    { name: 'long', letter: 'l', summary: 'with size in bytes and time' },
    { name: 'all-versions', letter: 'a', summary: 'what was replaced or deleted and is still kept, too' },
  ],
  notes: 'Patterns: * and ? match within a folder, ** across folders. Quote them, or the shell reads them first.',
  async run(invocation) {
    const client = createObjectClient(await findTarget(invocation));
    const [uri] = invocation.operands;
    if (uri === undefined) {
      const buckets = await client.listBuckets();
      print(invocation, { folders: buckets.map((bucket) => `gs://${bucket}/`), objects: [] });
      return 0;
    }
    const listing = await list(client, parseGsUri(uri), {
      isDeep: invocation.isSet('recursive'),
      isWithVersions: invocation.isSet('all-versions'),
    });
    if (listing.objects.length === 0 && listing.folders.length === 0 && parseGsUri(uri).name !== '') {
      throw new Failure(`Nothing matches ${uri}.`);
    }
    print(invocation, listing);
    return 0;
  },
};

type Listing = { readonly folders: readonly string[]; readonly objects: readonly StoredObject[] };

type Scope = { readonly isDeep: boolean; readonly isWithVersions: boolean };

async function list(client: ObjectClient, address: GsUri, scope: Scope): Promise<Listing> {
  const found = await client.find(address, scope);
  if (scope.isDeep || isPattern(address.name) || (found.length > 0 && !address.name.endsWith('/'))) {
    return { folders: [], objects: found };
  }
  const { folders, objects } = await client.listFolder(address, scope);
  return { folders: folders.map((name) => formatGsUri({ bucket: address.bucket, name })), objects };
}

function print({ print: write, isSet }: Invocation, { folders, objects }: Listing): void {
  const entries = objects.map(({ sizeBytes, updateTime, generation, ...uri }) => ({
    uri: `${formatGsUri(uri)}${isSet('all-versions') ? `#${generation}` : ''}`,
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
