import { createHash } from 'node:crypto';

const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';

/** The parts of an image, which need not be one that runs. */
export type ImageParts = {
  readonly configuration: Buffer;
  readonly layers: readonly Buffer[];
  /** Changes the manifest before it is published. */
  readonly edit?: ((manifest: Record<string, unknown>) => object) | undefined;
};

type ImageOptions = {
  readonly os?: string;
  readonly architecture?: string;
  readonly config?: object;
  readonly layerBytes?: readonly number[];
  readonly edit?: ImageParts['edit'];
};

export function imageOf(options: ImageOptions = {}): ImageParts {
  const { os = 'linux', architecture = 'amd64', config = { Cmd: ['/run'] }, layerBytes = [10], edit } = options;
  return {
    configuration: Buffer.from(JSON.stringify({ os, architecture, config, rootfs: { type: 'layers', diff_ids: [] } })),
    layers: layerBytes.map((bytes, index) => Buffer.alloc(bytes, index)),
    edit,
  };
}

export type Published = { readonly digest: string; readonly sizeBytes: number; readonly mediaType: string };

export type Target = { readonly host: string; readonly repository: string; readonly authorization?: string };

/** Stores an image in a registry over its API; without a tag, by its digest alone. */
export async function publishImage(target: Target, image: ImageParts, tag?: string): Promise<Published> {
  const config = await putBlob(target, image.configuration);
  const layers = await Promise.all(image.layers.map((layer) => putBlob(target, layer)));
  const manifest = {
    schemaVersion: 2,
    mediaType: IMAGE,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
    layers: layers.map((layer) => ({ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', ...layer })),
  };
  return putManifest(target, image.edit?.(manifest) ?? manifest, { mediaType: IMAGE, tag });
}

/** Stores an index of published images; the key of each is its platform, `linux/arm64`. */
export async function publishIndex(
  target: Target,
  images: Readonly<Record<string, Published>>,
  tag?: string,
): Promise<Published> {
  const manifests = Object.entries(images).map(([platform, { digest, sizeBytes: size, mediaType }]) => {
    const [os, architecture, variant] = platform.split('/');
    return { mediaType, digest, size, platform: { os, architecture, ...(variant && { variant }) } };
  });
  return putManifest(target, { schemaVersion: 2, mediaType: INDEX, manifests }, { mediaType: INDEX, tag });
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

async function putBlob(target: Target, bytes: Buffer): Promise<{ readonly digest: string; readonly size: number }> {
  const digest = digestOf(bytes);
  const started = await fetch(urlOf(target, 'blobs/uploads/'), { method: 'POST', headers: headersOf(target) });
  const location = new URL(started.headers.get('location') ?? '', `http://${target.host}`);
  location.searchParams.set('digest', digest);
  const headers = { ...headersOf(target), 'content-type': 'application/octet-stream' };
  await expectCreated(await fetch(location, { method: 'PUT', headers, body: new Uint8Array(bytes) }));
  return { digest, size: bytes.byteLength };
}

async function putManifest(
  target: Target,
  manifest: object,
  { mediaType, tag }: { readonly mediaType: string; readonly tag: string | undefined },
): Promise<Published> {
  const bytes = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(bytes);
  const headers = { ...headersOf(target), 'content-type': mediaType };
  const url = urlOf(target, `manifests/${tag ?? digest}`);
  await expectCreated(await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) }));
  return { digest, sizeBytes: bytes.byteLength, mediaType };
}

async function expectCreated(answer: Response): Promise<void> {
  if (answer.status !== 201) {
    throw new Error(`The registry answered ${answer.status}: ${await answer.text()}`);
  }
}

function urlOf({ host, repository }: Target, path: string): string {
  return `http://${host}/v2/${repository}/${path}`;
}

function headersOf({ authorization }: Target): Record<string, string> {
  return authorization === undefined ? {} : { authorization };
}
