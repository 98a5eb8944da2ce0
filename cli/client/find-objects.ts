import { parseGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient, StoredObject } from '#cli/client/object-client.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';

/** Every object that the addresses mean. Fails for one that means none, before anything is done to the others. */
export async function findObjects(
  client: ObjectClient,
  uris: readonly string[],
  options: { readonly isDeep: boolean; readonly isWithVersions?: boolean },
): Promise<readonly StoredObject[]> {
  const found: StoredObject[] = [];
  for (const uri of uris) {
    const objects = await client.find(parseGsUri(uri), options);
    if (objects.length === 0) {
      const below = options.isDeep ? [] : await client.find(parseGsUri(uri), { ...options, isDeep: true });
      const hint = below.length > 0 ? ' It is a folder: use -r, or a pattern such as FOLDER/**.' : '';
      throw new Failure(`There is no object ${uri}.${hint || ` \`${programName()} ls\` shows what there is.`}`);
    }
    found.push(...objects);
  }
  return found;
}
