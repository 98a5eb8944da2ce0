import { pinnedUriOf } from '#shared/domain/image-reference.ts';
import type { ImageRegistry, ImageRequest } from '#shared/ports/image-registry.ts';

/** A registry that has every image, without a login, and records what it was asked for. */
export function exampleRegistry(requests: ImageRequest[] = []): ImageRegistry {
  return {
    async resolve(request) {
      requests.push(request);
      const uri = pinnedUriOf(request.reference, `sha256:${(request.architecture === 'amd64' ? 'a' : 'b').repeat(64)}`);
      const image = { uri, sizeBytes: 50_000_000, entrypoint: ['/train'], cmd: [], user: '', workingDir: '' };
      return { kind: 'FOUND', image };
    },
  };
}
