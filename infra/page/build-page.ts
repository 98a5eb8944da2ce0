import { readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { Metafile } from 'esbuild';
import { encodeAsset } from '#infra/page/page-files.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { PAGE_INDEX, type PageAsset } from '#shared/ports/page-assets.ts';

export const PAGE_SOURCES = 'dashboard';

const INDEX_SOURCE = `${PAGE_SOURCES}/page.html`;

/** The files that the index loads; every other file is loaded by these. */
export const PAGE_ENTRY_POINTS = [
  'dashboard/main.tsx',
  'dashboard/theme.ts',
  'dashboard/log/search-worker.ts',
  'dashboard/style/page.css',
  'dashboard/style/icon.svg',
];

/** Builds the page from its sources in memory: its files by path, such as `assets/main-4F7K2Q.js`. */
export async function buildPage(): Promise<ReadonlyMap<string, PageAsset>> {
  // Loaded here because a control plane starts more often than its page is opened.
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: PRODUCT_ROOT,
    entryPoints: PAGE_ENTRY_POINTS,
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const files = outputFiles.map(({ path, contents }) => [relative(PRODUCT_ROOT, path), contents] as const);
  const index = await renderIndex(metafile);
  const all = [...files, [PAGE_INDEX, Buffer.from(index)] as const];
  return new Map(await Promise.all(all.map(async ([path, bytes]) => [path, await encodeAsset(path, bytes)] as const)));
}

/** Replaces `{{source}}` by the address of its output, and preloads the modules that the main one imports. */
async function renderIndex({ outputs }: Metafile): Promise<string> {
  const addresses = new Map(Object.entries(outputs).map(([path, { entryPoint }]) => [entryPoint ?? '', path]));
  const icon = Object.keys(outputs).find((path) => basename(path).startsWith('icon-')) ?? '';
  const source = await readFile(join(PRODUCT_ROOT, INDEX_SOURCE), 'utf8');
  const main = outputs[addresses.get('dashboard/main.tsx') ?? ''];
  const preloads = (main?.imports ?? [])
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `    <link rel="modulepreload" href="/${path}" />\n`);
  return source
    .replaceAll(/\{\{(.+?)\}\}/g, (_, name: string) => `/${addresses.get(name) ?? icon}`)
    .replace('  </head>', `${preloads.join('')}  </head>`);
}
