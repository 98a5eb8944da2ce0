import type { Architecture } from '#shared/domain/architecture.ts';
import { type ImageReference, isGoogleRegistry } from '#shared/domain/image-reference.ts';
import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import { describeDenial as describePerimeterDenial, PERIMETER_REMEDY } from '#shared/domain/perimeter-denial.ts';
import type { ImageRejection } from '#shared/ports/image-registry.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { listFirst } from '#shared/text/list-first.ts';
import { nearestName } from '#shared/text/nearest-name.ts';

type RejectedImage = {
  readonly imageUri: string;
  readonly reference: ImageReference;
  readonly group: Pick<ReplicaGroup, 'role' | 'machineType'>;
  readonly architecture: Architecture;
};

const TAGS_SHOWN_MAX = 8;

/** Says what a user can do about an image that a registry does not give. */
export function describeImageRejection(rejection: ImageRejection, image: RejectedImage): Problem {
  switch (rejection.reason) {
    case 'NOT_FOUND':
      return describeMissing(image, rejection.tags);
    case 'ACCESS_DENIED':
      return describeDenial(image, rejection.identity);
    case 'PERIMETER_DENIED':
      return {
        code: 'PERIMETER_DENIED',
        message: describePerimeterDenial(`the access to the image ${image.imageUri}`, rejection.denial),
        remedy: PERIMETER_REMEDY,
      };
    case 'PLATFORM':
      return describePlatform(image, rejection.platforms);
    case 'FORMAT':
      return {
        code: 'IMAGE_UNSUPPORTED',
        message: `The image ${image.imageUri} ${rejection.detail}.`,
        remedy: 'Build it again with a current version of Docker, and push it.',
      };
    case 'REGISTRY':
      return {
        code: 'REGISTRY_REJECTED',
        message: `The image ${image.imageUri} cannot be used: its registry ${image.reference.host} ${rejection.detail}.`,
        remedy: `Check the host in the image's name. An image without a host, such as ubuntu:24.04, is of Docker Hub.`,
      };
  }
}

function describeMissing({ imageUri, reference }: RejectedImage, tags: readonly string[]): Problem {
  const code = 'IMAGE_NOT_FOUND';
  const { host, repository, tag, digest } = reference;
  if (tags.length === 0) {
    const message = `The image ${imageUri} does not exist: ${host} has no repository ${repository}, or no image in it with this name.`;
    return { code, message, remedy: 'Check the name, and push the image before the job is submitted.' };
  }
  if (digest !== null) {
    const message = `The image ${imageUri} does not exist: the repository ${repository} has no image with this digest.`;
    return { code, message, remedy: `Check the digest, or use one of its tags: ${listFirst(tags, TAGS_SHOWN_MAX)}.` };
  }
  const nearest = nearestName(tag ?? '', tags);
  const meant = nearest === undefined ? '' : `Did you mean ${nearest}? `;
  const message = `The image ${imageUri} does not exist: the repository ${repository} has no tag ${tag}.`;
  return {
    code,
    message,
    remedy: `${meant}It has ${listFirst(tags, TAGS_SHOWN_MAX)}. Or push the image with this tag.`,
  };
}

function describeDenial({ imageUri, reference }: RejectedImage, identity: string | null): Problem {
  const { host, repository } = reference;
  const code = 'IMAGE_ACCESS_DENIED';
  if (identity === null) {
    const message = `The image ${imageUri} needs a login, or does not exist: ${host} does not give ${repository} to an anonymous request.`;
    const remedy = `Check the name. If the image is private, store "user:password" of an account that may read it as a secret, and name the secret for ${host} in registries (docs/containers.md).`;
    return { code, message, remedy };
  }
  const message = `The image ${imageUri} may not be read by ${identity}, or does not exist.`;
  const remedy = isGoogleRegistry(host)
    ? 'Check the name. If the image exists, add its repository to image_repositories in Terraform, which grants roles/artifactregistry.reader to the functions of intake and to the VMs.'
    : `Check the name, and that this account may read ${repository} and has no expired password (registries in docs/containers.md).`;
  return { code, message, remedy };
}

function describePlatform({ imageUri, group, architecture }: RejectedImage, platforms: readonly string[]): Problem {
  const has = platforms.length === 0 ? 'no platform that is named' : platforms.join(', ');
  return {
    code: 'IMAGE_PLATFORM',
    message: `The image ${imageUri} is for ${has}; the ${group.role}, a ${group.machineType}, runs linux/${architecture}.`,
    remedy: `Build it with --platform linux/${architecture}, or for both with docker buildx build --platform linux/amd64,linux/arm64.`,
  };
}
