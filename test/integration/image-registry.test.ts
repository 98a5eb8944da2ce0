import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createImageRegistry } from '#infra/registry/image-registry.ts';
import { ANONYMOUS, type RegistryCredentials } from '#infra/registry/registry-credentials.ts';
import type { Architecture } from '#shared/domain/architecture.ts';
import { parseImageReference } from '#shared/domain/image-reference.ts';
import type { ImageAnswer } from '#shared/ports/image-registry.ts';
import { type ImageParts, imageOf, publishImage, publishIndex } from '../support/containers/published-image.ts';
import {
  hasRegistry,
  type RegistryUnderTest,
  startRegistryUnderTest,
} from '../support/containers/registry-under-test.ts';

type Asked = { readonly architecture?: Architecture; readonly credentials?: RegistryCredentials };

function resolve(
  imageUri: string,
  { architecture = 'amd64', credentials = ANONYMOUS }: Asked = {},
): Promise<ImageAnswer> {
  const registry = createImageRegistry(async () => credentials, { allowsPrivateAddresses: true, retryDelaysMs: [] });
  const reference = parseImageReference(imageUri);
  if (reference === undefined) {
    throw new Error(`${imageUri} is not an image reference`);
  }
  return registry.resolve({ reference, architecture });
}

describe.runIf(hasRegistry())('a registry', () => {
  let registry: RegistryUnderTest;

  beforeAll(async () => {
    registry = await startRegistryUnderTest();
  });
  afterAll(() => registry.stop());

  const targetOf = (repository: string) => ({ host: registry.host, repository });

  it('gives an image with its digest, size, entry point, command, user and working directory', async () => {
    const config = { Entrypoint: ['/train'], Cmd: ['--epochs', '3'], User: '1000:1000', WorkingDir: '/app' };
    const image = imageOf({ config, layerBytes: [100, 23] });
    const { digest } = await publishImage(targetOf('team/digits'), image, '1');
    expect(await resolve(`${registry.host}/team/digits:1`)).toEqual({
      kind: 'FOUND',
      image: {
        uri: `${registry.host}/team/digits@${digest}`,
        sizeBytes: 123,
        entrypoint: ['/train'],
        cmd: ['--epochs', '3'],
        user: '1000:1000',
        workingDir: '/app',
      },
    });
  });

  it('gives the image of an index for the architecture of the VM', async () => {
    const target = targetOf('team/many');
    const arm64 = await publishImage(target, imageOf({ architecture: 'arm64' }));
    const amd64 = await publishImage(target, imageOf());
    await publishIndex(target, { 'linux/arm64': arm64, 'linux/amd64': amd64 }, 'latest');
    for (const [architecture, { digest }] of [['amd64', amd64] as const, ['arm64', arm64] as const]) {
      const answer = await resolve(`${registry.host}/team/many`, { architecture });
      expect(answer).toMatchObject({ kind: 'FOUND', image: { uri: `${registry.host}/team/many@${digest}` } });
    }
  });

  it('gives the image of a digest, whatever the tag', async () => {
    const target = targetOf('team/moved');
    const { digest } = await publishImage(target, imageOf({ layerBytes: [1] }), '1');
    await publishImage(target, imageOf({ layerBytes: [2] }), '1');
    const answer = await resolve(`${registry.host}/team/moved:1@${digest}`);
    expect(answer).toMatchObject({
      kind: 'FOUND',
      image: { uri: `${registry.host}/team/moved@${digest}`, sizeBytes: 1 },
    });
  });

  it('names the tags of a repository that lacks the tag or the digest, and none of a missing repository', async () => {
    const target = targetOf('team/tagged');
    await publishImage(target, imageOf(), '1.0');
    await publishImage(target, imageOf(), '1.1');
    const notFound = (tags: readonly string[]) => ({ kind: 'REJECTED', rejection: { reason: 'NOT_FOUND', tags } });
    expect(await resolve(`${registry.host}/team/tagged:1.2`)).toEqual(notFound(['1.0', '1.1']));
    const unknown = `sha256:${'0'.repeat(64)}`;
    expect(await resolve(`${registry.host}/team/tagged@${unknown}`)).toEqual(notFound(['1.0', '1.1']));
    expect(await resolve(`${registry.host}/team/tagget`)).toEqual(notFound([]));
  });

  const platforms = (...names: readonly string[]) => ({
    kind: 'REJECTED',
    rejection: { reason: 'PLATFORM', platforms: names },
  });

  it('rejects an index without the architecture, whose attestations are no platforms', async () => {
    const target = targetOf('team/arm');
    const arm64 = await publishImage(target, imageOf({ architecture: 'arm64' }));
    const attestation = await publishImage(target, imageOf({ architecture: 'unknown', os: 'unknown' }));
    await publishIndex(target, { 'linux/arm64/v8': arm64, 'unknown/unknown': attestation }, 'latest');
    expect(await resolve(`${registry.host}/team/arm`)).toEqual(platforms('linux/arm64'));
  });

  it('rejects an image without an index by the architecture of its configuration', async () => {
    await publishImage(targetOf('team/foreign'), imageOf({ architecture: 'arm64' }), 'latest');
    expect(await resolve(`${registry.host}/team/foreign`)).toEqual(platforms('linux/arm64'));
    await publishImage(targetOf('team/windows'), imageOf({ os: 'windows' }), 'latest');
    expect(await resolve(`${registry.host}/team/windows`)).toEqual(platforms('windows/amd64'));
  });

  it('prefers an image for every processor of the architecture to one for the newest', async () => {
    const target = targetOf('team/variants');
    const newest = await publishImage(target, imageOf({ layerBytes: [3] }));
    const all = await publishImage(target, imageOf({ layerBytes: [1] }));
    await publishIndex(target, { 'linux/amd64/v3': newest, 'linux/amd64': all }, 'latest');
    expect(await resolve(`${registry.host}/team/variants`)).toMatchObject({ image: { sizeBytes: 1 } });
  });

  it.each<[string, NonNullable<ImageParts['edit']>, string]>([
    ['encrypted layers', editLayers('application/vnd.oci.image.layer.v1.tar+gzip+encrypted'), 'has encrypted layers'],
    [
      'foreign layers',
      editLayers('application/vnd.oci.image.layer.nondistributable.v1.tar+gzip'),
      'has layers that its registry does not distribute',
    ],
    [
      'a chart',
      ({ config, ...rest }) => ({
        ...rest,
        config: { ...Object(config), mediaType: 'application/vnd.cncf.helm.config.v1+json' },
      }),
      'is not a container image but an artifact of type application/vnd.cncf.helm.config.v1+json',
    ],
  ])('rejects %s', async (name, edit, detail) => {
    const repository = name.replaceAll(' ', '-');
    await publishImage(targetOf(repository), imageOf({ edit }), 'latest');
    const answer = await resolve(`${registry.host}/${repository}`);
    expect(answer).toEqual({ kind: 'REJECTED', rejection: { reason: 'FORMAT', detail } });
  });
});

function editLayers(mediaType: string): NonNullable<ImageParts['edit']> {
  return ({ layers, ...rest }) => ({
    ...rest,
    layers: (layers as readonly object[]).map((layer) => ({ ...layer, mediaType })),
  });
}

describe.runIf(hasRegistry())('a registry with a login', () => {
  const authorization = `Basic ${Buffer.from('alice:s3cret').toString('base64')}`;
  let registry: RegistryUnderTest;
  let imageUri: string;

  beforeAll(async () => {
    registry = await startRegistryUnderTest({ user: 'alice', password: 's3cret' });
    imageUri = `${registry.host}/private/digits:1`;
    await publishImage({ host: registry.host, repository: 'private/digits', authorization }, imageOf(), '1');
  });
  afterAll(() => registry.stop());

  const loginOf = (userAndPassword: string): RegistryCredentials => ({
    identity: 'the secret reader',
    login: { kind: 'PASSWORD', userAndPassword },
  });

  it('gives an image to its user, and says who was denied otherwise', async () => {
    const denied = (identity: string | null) => ({
      kind: 'REJECTED',
      rejection: { reason: 'ACCESS_DENIED', identity },
    });
    expect(await resolve(imageUri, { credentials: loginOf('alice:s3cret') })).toMatchObject({ kind: 'FOUND' });
    expect(await resolve(imageUri, { credentials: loginOf('alice:wrong') })).toEqual(denied('the secret reader'));
    expect(await resolve(imageUri)).toEqual(denied(null));
  });
});
