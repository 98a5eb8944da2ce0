import type { Architecture } from '#shared/domain/architecture.ts';
import type { ImageReference } from '#shared/domain/image-reference.ts';
import type { PinnedImage } from '#shared/domain/job-spec.ts';
import type { PerimeterDenial } from '#shared/domain/perimeter-denial.ts';

/** `architecture`: that of the VM's processors (OCI Image Index, "platform"). */
export type ImageRequest = { readonly reference: ImageReference; readonly architecture: Architecture };

/** Why an image cannot be used. A retry at once would find the same. */
export type ImageRejection =
  /** `tags`: some of the repository, empty if it does not exist or its tags cannot be listed. */
  | { readonly reason: 'NOT_FOUND'; readonly tags: readonly string[] }
  /** `identity`: what the registry was asked with, such as `the secret ghcr-reader`; null for an anonymous request. */
  | { readonly reason: 'ACCESS_DENIED'; readonly identity: string | null }
  | { readonly reason: 'PERIMETER_DENIED'; readonly denial: PerimeterDenial }
  /** `platforms`: those that the image has, such as `linux/arm64`. */
  | { readonly reason: 'PLATFORM'; readonly platforms: readonly string[] }
  /** `detail`: what its manifest is or has, as the rest of a sentence about the image. */
  | { readonly reason: 'FORMAT'; readonly detail: string }
  /** `detail`: why the registry is not asked or not understood, as the rest of a sentence about its host. */
  | { readonly reason: 'REGISTRY'; readonly detail: string };

export type ImageAnswer =
  | { readonly kind: 'FOUND'; readonly image: PinnedImage }
  | { readonly kind: 'REJECTED'; readonly rejection: ImageRejection };

/** The registry did not answer, or limits the rate of requests; the same request may succeed in a few minutes. */
export class RegistryUnavailableError extends Error {
  readonly host: string;

  constructor(host: string, detail: string) {
    super(`The registry ${host} ${detail}.`);
    this.host = host;
  }
}

/** Registries of container images, as the control plane may read them. */
export type ImageRegistry = {
  /**
   * Finds the image for an architecture, downloads no layer, and verifies the digests of what it reads. Throws
   * RegistryUnavailableError.
   */
  resolve(request: ImageRequest): Promise<ImageAnswer>;
};
