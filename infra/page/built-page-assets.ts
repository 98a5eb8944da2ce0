import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildPage, PAGE_SOURCES } from '#infra/page/build-page.ts';
import { openArchivedPage } from '#infra/page/page-files.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import type { PageAsset, PageAssets } from '#shared/ports/page-assets.ts';

/**
 * The page: in a checkout, built from its sources when its first file is requested; in the npm package, which has none,
 * as it was built for the package.
 */
export function createBuiltPageAssets(): PageAssets {
  if (!existsSync(join(PRODUCT_ROOT, PAGE_SOURCES))) {
    return openArchivedPage(join(PRODUCT_ROOT, 'dist/page'));
  }
  let built: Promise<ReadonlyMap<string, PageAsset>> | null = null;
  return {
    async find(path) {
      built ??= buildPage().catch((error: unknown) => {
        built = null;
        throw error;
      });
      return (await built).get(path);
    },
  };
}
