/** Forms in which an asset is sent, smallest first; `identity` is uncompressed. */
export const PAGE_ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type PageEncoding = (typeof PAGE_ENCODINGS)[number];

/** A file of the page. */
export type PageAsset = {
  readonly contentType: string;
  /** Changes with the content. */
  readonly etag: string;
  readonly bytes: Readonly<Record<PageEncoding, Uint8Array>>;
};

/** The files of the page: `index.html` and `assets/…`, whose names contain a hash of their content. */
export type PageAssets = {
  /** Undefined if the page has no such file. */
  find(path: string): Promise<PageAsset | undefined>;
};

export const PAGE_INDEX = 'index.html';
