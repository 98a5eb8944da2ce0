import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { tarEntryOf, tarOf } from '../package/build-archives.ts';

export type PushedImage = {
  /** `HOST/REPOSITORY@sha256:…` */
  readonly uri: string;
  /** The size of all layers, compressed. */
  readonly sizeBytes: number;
  /** Digests by order. */
  readonly layers: readonly string[];
  readonly digest: string;
};

const ZEROS_BYTES = 16 << 20;
const DOCKER = 'application/vnd.docker';

/** A layer with one file of random bytes, compressed; it differs from every other one. */
export function randomLayer(sizeBytes: number): Buffer {
  const name = `data-${randomBytes(4).toString('hex')}`;
  return tarOf([{ path: name, data: randomBytes(sizeBytes) }]);
}

export type CompressedLayer = { readonly compressed: Buffer; readonly uncompressedDigest: string };

/** A layer with one file of zeros, which takes a thousandth of it compressed; never whole in memory. */
export function zeroLayer(sizeBytes: number): CompressedLayer {
  const header = tarEntryOf({ path: `zeros-${randomBytes(4).toString('hex')}`, sizeBytes });
  const [block, compressedBlock] = [Buffer.alloc(ZEROS_BYTES), gzipSync(Buffer.alloc(ZEROS_BYTES), { level: 1 })];
  const blocks = Math.ceil(sizeBytes / ZEROS_BYTES);
  const hash = createHash('sha256').update(header);
  for (let index = 0; index < blocks; index += 1) {
    hash.update(block);
  }
  // Several gzip files in a row are one (RFC 1952, 2.2); zeros also end the archive.
  return {
    compressed: Buffer.concat([gzipSync(header), ...Array<Buffer>(blocks).fill(compressedBlock)]),
    uncompressedDigest: `sha256:${hash.digest('hex')}`,
  };
}

function compress(layer: Buffer | CompressedLayer): CompressedLayer {
  return Buffer.isBuffer(layer)
    ? { compressed: gzipSync(layer, { level: 1 }), uncompressedDigest: digestOf(layer) }
    : layer;
}

/** Pushes an image of these layers through the registry's API, without an engine. */
export async function pushLayers(
  repository: string,
  given: readonly (Buffer | CompressedLayer)[],
  architecture = process.arch === 'arm64' ? 'arm64' : 'amd64',
): Promise<PushedImage> {
  const layers = given.map(compress);
  const config = Buffer.from(
    JSON.stringify({
      ...{ architecture, os: 'linux', config: { Cmd: ['/none'] }, history: [] },
      rootfs: { type: 'layers', diff_ids: layers.map(({ uncompressedDigest }) => uncompressedDigest) },
    }),
  );
  const compressed = layers.map((layer) => layer.compressed);
  for (const blob of [config, ...compressed]) {
    await pushBlob(repository, blob);
  }
  const describe = (mediaType: string, blob: Buffer) => ({ mediaType, size: blob.length, digest: digestOf(blob) });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${DOCKER}.distribution.manifest.v2+json`,
      config: describe(`${DOCKER}.container.image.v1+json`, config),
      layers: compressed.map((blob) => describe(`${DOCKER}.image.rootfs.diff.tar.gzip`, blob)),
    }),
  );
  const digest = digestOf(manifest);
  const headers = { 'content-type': `${DOCKER}.distribution.manifest.v2+json` };
  await send(`${apiOf(repository)}/manifests/${digest}`, { method: 'PUT', headers, body: new Uint8Array(manifest) });
  const sizeBytes = compressed.reduce((sum, { length }) => sum + length, 0);
  return { uri: `${repository}@${digest}`, sizeBytes, layers: compressed.map(digestOf), digest };
}

type Manifest = { readonly config: { readonly digest: string } };

/** Pushes an image again with these fields in its configuration's `config`; returns `HOST/REPOSITORY@sha256:…`. */
export async function pushConfig(uri: string, fields: object): Promise<string> {
  const [repository = '', pinned = ''] = uri.split('@');
  const api = apiOf(repository);
  const accept = `${DOCKER}.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json`;
  const found = await send(`${api}/manifests/${pinned}`, { headers: { accept } });
  const manifest = (await found.json()) as Manifest;
  const body = (await (await send(`${api}/blobs/${manifest.config.digest}`, {})).json()) as {
    readonly config?: object;
  };
  const config = Buffer.from(JSON.stringify({ ...body, config: { ...body.config, ...fields } }));
  await pushBlob(repository, config);
  const described = { ...manifest.config, size: config.length, digest: digestOf(config) };
  const changed = Buffer.from(JSON.stringify({ ...manifest, config: described }));
  const headers = { 'content-type': found.headers.get('content-type') ?? '' };
  await send(`${api}/manifests/${digestOf(changed)}`, { method: 'PUT', headers, body: new Uint8Array(changed) });
  return `${repository}@${digestOf(changed)}`;
}

/** Deletes an image's manifest, as a cleanup policy does. */
export async function deleteImage(repository: string, digest: string): Promise<void> {
  await send(`${apiOf(repository)}/manifests/${digest}`, { method: 'DELETE' });
}

async function pushBlob(repository: string, blob: Buffer): Promise<void> {
  const begun = await send(`${apiOf(repository)}/blobs/uploads/`, { method: 'POST' });
  const url = new URL(begun.headers.get('location') ?? '', begun.url);
  url.searchParams.set('digest', digestOf(blob));
  await send(url, {
    method: 'PUT',
    body: new Uint8Array(blob),
    headers: { 'content-type': 'application/octet-stream' },
  });
}

function apiOf(repository: string): string {
  return `http://${repository.replace('/', '/v2/')}`;
}

async function send(url: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) {
    throw new Error(`${init.method ?? 'GET'} ${url} answered ${response.status}: ${await response.text()}`);
  }
  return response;
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
