import { createHash } from 'node:crypto';
import * as z from 'zod';
import { MANIFEST_TYPES, readConfiguration, readManifest } from '#infra/registry/image-manifest.ts';
import {
  createRegistryClient,
  type RegistryClient,
  type RegistryLimits,
  RejectedError,
} from '#infra/registry/registry-client.ts';
import type { CredentialsOf } from '#infra/registry/registry-credentials.ts';
import { type ImageReference, pinnedUriOf } from '#shared/domain/image-reference.ts';
import type { ImageAnswer, ImageRegistry, ImageRequest } from '#shared/ports/image-registry.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

export type ImageRegistryOptions = Partial<RegistryLimits> & Pick<RegistryLimits, 'allowsPrivateAddresses'>;

const LIMITS = { timeoutMs: 15_000, retryDelaysMs: [500, 2_000], retryAfterMsMax: 5_000 };

/** Registries accept manifests of up to 4 MiB (OCI Distribution, "Pushing Manifests"). */
const MANIFEST_BYTES_MAX = 4 << 20;
const CONFIG_BYTES_MAX = 8 << 20;
const TAGS_BYTES_MAX = 1 << 20;
const TAGS_COUNT_MAX = 1_000;

/** An index whose entry is an index again is not what any tool builds. */
const INDEX_DEPTH_MAX = 2;

const tagsSchema = z.object({ tags: z.array(z.string().max(128)).nullable() });

/** Reads registries over their HTTP API (OCI Distribution Specification). Downloads manifests and configurations only. */
export function createImageRegistry(credentialsOf: CredentialsOf, options: ImageRegistryOptions): ImageRegistry {
  const limits = { ...LIMITS, ...options };
  return {
    async resolve(request) {
      const { reference } = request;
      const credentials = await credentialsOf(reference.host);
      try {
        return await resolveImage(createRegistryClient(reference, credentials, limits), request);
      } catch (error) {
        if (error instanceof RejectedError) {
          return { kind: 'REJECTED', rejection: error.rejection };
        }
        throw error;
      }
    },
  };
}

async function resolveImage(client: RegistryClient, request: ImageRequest): Promise<ImageAnswer> {
  const { reference, architecture } = request;
  let named = reference.digest ?? reference.tag ?? 'latest';
  for (let depth = 0; depth <= INDEX_DEPTH_MAX; depth += 1) {
    const body = await readManifestBody(client, reference, named);
    if (body === undefined) {
      return { kind: 'REJECTED', rejection: { reason: 'NOT_FOUND', tags: await listTags(client, reference) } };
    }
    const manifest = readManifest(body, architecture);
    if (manifest.kind === 'REJECTED') {
      return manifest;
    }
    if (manifest.kind === 'IMAGE') {
      const path = `${reference.repository}/blobs/${manifest.configDigest}`;
      const answer = await client.get({ path, accept: '*/*', bytesMax: CONFIG_BYTES_MAX });
      if (answer.status !== 200) {
        throw new RejectedError({ reason: 'FORMAT', detail: 'has no configuration in its registry' });
      }
      verify(answer.body, manifest.configDigest);
      const uri = pinnedUriOf(reference, digestOf(body));
      return readConfiguration(answer.body, architecture, { uri, sizeBytes: manifest.sizeBytes });
    }
    named = manifest.digest;
  }
  throw new RejectedError({ reason: 'FORMAT', detail: 'is an index of indexes' });
}

/** The bytes of a manifest; undefined if there is none of that tag or digest. */
async function readManifestBody(client: RegistryClient, { repository }: ImageReference, named: string) {
  const path = `${repository}/manifests/${named}`;
  const answer = await client.get({ path, accept: MANIFEST_TYPES.join(', '), bytesMax: MANIFEST_BYTES_MAX });
  if (answer.status !== 200) {
    return undefined;
  }
  if (named.startsWith('sha256:')) {
    verify(answer.body, named);
  }
  return answer.body;
}

/** Tags of the repository, for the message that one is missing; empty if they cannot be listed. */
async function listTags(client: RegistryClient, { repository }: ImageReference): Promise<readonly string[]> {
  const path = `${repository}/tags/list?n=${TAGS_COUNT_MAX}`;
  try {
    const answer = await client.get({ path, accept: 'application/json', bytesMax: TAGS_BYTES_MAX });
    const parsed = tagsSchema.safeParse(parseJson(answer.body.toString('utf8')));
    return (parsed.data?.tags ?? [])
      .filter((tag) => /^\w[\w.-]*$/.test(tag))
      .toSorted()
      .slice(0, TAGS_COUNT_MAX);
  } catch (error) {
    if (error instanceof RejectedError) {
      return [];
    }
    throw error;
  }
}

function verify(body: Buffer, digest: string): void {
  if (digestOf(body) !== digest) {
    throw new RejectedError({ reason: 'REGISTRY', detail: `answered with other bytes than ${digest} names` });
  }
}

function digestOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}
