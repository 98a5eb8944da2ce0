import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createImageRegistry } from '#infra/registry/image-registry.ts';
import { ANONYMOUS, type RegistryCredentials } from '#infra/registry/registry-credentials.ts';
import { parseImageReference } from '#shared/domain/image-reference.ts';
import type { Architecture, ImageAnswer } from '#shared/ports/image-registry.ts';
import { imageOf, publishImage, publishIndex } from '../support/containers/published-image.ts';
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

describe.runIf(await hasRegistry())('a registry', () => {
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
});
