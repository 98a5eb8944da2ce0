import { buffer } from 'node:stream/consumers';
import type { ArchiveListing } from '#shared/package/archive/archive-listing.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';

type SingleFile = { readonly source: PackageSource; readonly listing: ArchiveListing };

/** Lists a package that is one file, under its own name. Its text is read only if it is scanned. */
export async function readSingleFile({ source, listing }: SingleFile): Promise<void> {
  const { name, sizeBytes } = source;
  const path = listing.admit({ rawPath: name, kind: 'file', sizeBytes });
  if (path !== null && listing.needsText(path, sizeBytes)) {
    listing.addText(path, await buffer(await source.open()));
  }
}
