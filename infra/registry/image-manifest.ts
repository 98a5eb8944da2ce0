import * as z from 'zod';
import type { Architecture } from '#shared/domain/architecture.ts';
import type { PinnedImage } from '#shared/domain/job-spec.ts';
import type { ImageRejection } from '#shared/ports/image-registry.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/**
 * The types that are asked for: both families of media types, images and indexes of images (OCI Distribution,
 * "Pulling").
 */
export const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

const CONFIG_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]);

/** Docker's limit is 127. */
const LAYERS_COUNT_MAX = 1_000;
/** Far more than a command line needs; a job's record has to hold it. */
const COMMAND_BYTES_MAX = 32 << 10;

const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const sizeSchema = z.int().min(0);

const indexSchema = z.object({
  manifests: z.array(
    z.object({
      digest: digestSchema,
      mediaType: z.string().optional(),
      platform: z
        .object({ os: z.string().max(64), architecture: z.string().max(64), variant: z.string().max(64).optional() })
        .optional(),
    }),
  ),
});

const manifestSchema = z.object({
  config: z.object({ mediaType: z.string(), digest: digestSchema, size: sizeSchema }),
  layers: z.array(z.object({ mediaType: z.string(), size: sizeSchema })).max(LAYERS_COUNT_MAX),
});

const wordsSchema = z
  .array(z.string())
  .nullish()
  .transform((words) => words ?? []);
const textSchema = z
  .string()
  .max(1_024)
  .nullish()
  .transform((text) => text ?? '');

const configSchema = z.object({
  os: z.string().max(64),
  architecture: z.string().max(64),
  config: z
    .object({ Entrypoint: wordsSchema, Cmd: wordsSchema, User: textSchema, WorkingDir: textSchema })
    .nullish()
    .transform((config) => config ?? { Entrypoint: [], Cmd: [], User: '', WorkingDir: '' }),
});

export type Manifest =
  /** An index: the manifest of the image for the architecture is elsewhere. */
  | { readonly kind: 'INDEX'; readonly digest: string }
  | { readonly kind: 'IMAGE'; readonly configDigest: string; readonly sizeBytes: number }
  | { readonly kind: 'REJECTED'; readonly rejection: ImageRejection };

/** Reads the answer to a request for a manifest: an image, or an index of images for several platforms. */
export function readManifest(body: Buffer, architecture: Architecture): Manifest {
  const json = parseJson(body.toString('utf8'));
  if (Object(json).manifests !== undefined && Object(json).layers !== undefined) {
    // Two readers could take it for two different things (CVE-2021-41190).
    return rejectFormat('has a manifest that is both an index and an image');
  }
  const index = indexSchema.safeParse(json);
  if (index.success) {
    return chooseFromIndex(index.data, architecture);
  }
  if (Object(json).schemaVersion === 1) {
    return rejectFormat('has a manifest of schema version 1, which no longer can be pulled');
  }
  const manifest = manifestSchema.safeParse(json);
  if (!manifest.success) {
    return rejectFormat('has a manifest that is not one of an image');
  }
  const { config, layers } = manifest.data;
  if (!CONFIG_TYPES.has(config.mediaType)) {
    return rejectFormat(`is not a container image but an artifact of type ${printable(config.mediaType)}`);
  }
  if (layers.some(({ mediaType }) => mediaType.endsWith('+encrypted'))) {
    return rejectFormat('has encrypted layers');
  }
  if (layers.some(({ mediaType }) => /foreign|nondistributable/.test(mediaType))) {
    return rejectFormat('has layers that its registry does not distribute');
  }
  const sizeBytes = layers.reduce((sum, { size }) => sum + size, 0);
  return Number.isSafeInteger(sizeBytes)
    ? { kind: 'IMAGE', configDigest: config.digest, sizeBytes }
    : rejectFormat('has layers of an impossible size');
}

function chooseFromIndex({ manifests }: z.infer<typeof indexSchema>, architecture: Architecture): Manifest {
  const fitting = manifests.filter(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
  );
  // Variants of amd64 need newer processors; arm64 has v8 only.
  const chosen = fitting.find(({ platform }) => platform?.variant === undefined) ?? fitting[0];
  // An index of one image without a platform: its configuration tells.
  const only = manifests.length === 1 && manifests[0]?.platform === undefined ? manifests[0] : undefined;
  const found = chosen ?? only;
  return found === undefined
    ? { kind: 'REJECTED', rejection: { reason: 'PLATFORM', platforms: platformsOf(manifests) } }
    : { kind: 'INDEX', digest: found.digest };
}

/** Attestations are entries for the platform `unknown/unknown` (Docker docs, "Attestation storage"). */
function platformsOf(manifests: z.infer<typeof indexSchema>['manifests']): readonly string[] {
  const named = manifests.flatMap(({ platform }) =>
    platform === undefined || platform.os === 'unknown' ? [] : `${platform.os}/${platform.architecture}`,
  );
  return [...new Set(named.map(printable))].slice(0, 20);
}

/** The image whose configuration this is; `image` has what is known from its manifest. */
export function readConfiguration(
  body: Buffer,
  architecture: Architecture,
  image: Pick<PinnedImage, 'uri' | 'sizeBytes'>,
): { readonly kind: 'FOUND'; readonly image: PinnedImage } | Extract<Manifest, { kind: 'REJECTED' }> {
  const parsed = configSchema.safeParse(parseJson(body.toString('utf8')));
  if (!parsed.success) {
    return rejectFormat('has a configuration that is not one of an image');
  }
  const { os, architecture: own, config } = parsed.data;
  if (os !== 'linux' || own !== architecture) {
    return { kind: 'REJECTED', rejection: { reason: 'PLATFORM', platforms: [printable(`${os}/${own}`)] } };
  }
  const { Entrypoint: entrypoint, Cmd: cmd, User: user, WorkingDir: workingDir } = config;
  if (Buffer.byteLength([...entrypoint, ...cmd].join(' ')) > COMMAND_BYTES_MAX) {
    return rejectFormat(`has an entry point and a command of more than ${COMMAND_BYTES_MAX >> 10} KiB`);
  }
  return { kind: 'FOUND', image: { ...image, entrypoint, cmd, user, workingDir } };
}

function rejectFormat(detail: string): Extract<Manifest, { kind: 'REJECTED' }> {
  return { kind: 'REJECTED', rejection: { reason: 'FORMAT', detail } };
}

/** A text of the registry, for messages. */
function printable(text: string): string {
  return text.replaceAll(/[^\w./+-]/g, '?').slice(0, 128);
}
