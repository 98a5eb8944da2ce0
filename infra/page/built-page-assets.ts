import { buildPage } from '#infra/page/build-page.ts';
import type { PageAsset, PageAssets } from '#shared/ports/page-assets.ts';

/** The page, built from the sources of this checkout when its first file is requested. */
export function createBuiltPageAssets(): PageAssets {
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
