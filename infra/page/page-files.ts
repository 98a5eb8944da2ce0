import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gunzip, gzip } from 'node:zlib';
import type { PageAsset, PageAssets } from '#shared/ports/page-assets.ts';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file of the page from its content. `path` decides its type. */
export async function encodeAsset(path: string, contents: Uint8Array): Promise<PageAsset> {
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(contents), promisify(gzip)(contents)]);
  return describeAsset(path, { br, gzip: zipped, identity: contents });
}

/** The files of an archive that contains the page, by their paths in `directory`: every asset in two compressed forms. */
export function archivePage(
  directory: string,
  assets: ReadonlyMap<string, PageAsset>,
): Readonly<Record<string, Uint8Array>> {
  const files = [...assets].flatMap(([path, { bytes }]) => [
    [`${directory}/${path}.br`, bytes.br],
    [`${directory}/${path}.gz`, bytes.gzip],
  ]);
  return Object.fromEntries(files);
}

/** The page from the files of `archivePage`. Each is read when it is first requested. */
export function openArchivedPage(directory: string): PageAssets {
  const found = new Map<string, Promise<PageAsset>>();
  let names: Promise<ReadonlySet<string>> | null = null;
  return {
    async find(path) {
      names ??= readdir(directory, { recursive: true }).then((listed) => new Set(listed));
      // Only names of the listing: a path of a request never leaves the directory.
      if (!(await names).has(`${path}.br`)) {
        return undefined;
      }
      const asset = found.get(path) ?? readAsset(join(directory, path), path);
      found.set(path, asset);
      return asset;
    },
  };
}

async function readAsset(file: string, path: string): Promise<PageAsset> {
  const [br, zipped] = await Promise.all([readFile(`${file}.br`), readFile(`${file}.gz`)]);
  return describeAsset(path, { br, gzip: zipped, identity: await promisify(gunzip)(zipped) });
}

function describeAsset(path: string, bytes: PageAsset['bytes']): PageAsset {
  const digest = createHash('sha256').update(bytes.identity).digest('base64url');
  const contentType = CONTENT_TYPES[extname(path)] ?? 'application/octet-stream';
  return { contentType, etag: `"${digest.slice(0, 22)}"`, bytes };
}
