import { isGoogleRegistry, parseImageReference } from '#shared/domain/image-reference.ts';
import { type SourceLocation, unique } from '#shared/job-file/parser/findings.ts';
import { type InternetAccess, NAT_REMEDY, reachesInternet, type VmNetwork } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';

type NamedImage = { readonly imageUri: string; readonly location?: SourceLocation };

/** Problems with images that VMs cannot pull, and warnings where that is not known. */
export function checkImageHosts(
  images: readonly NamedImage[],
  network: VmNetwork,
  access: InternetAccess | undefined,
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const isReached = access === undefined ? true : reachesInternet(network, access);
  if (access === undefined || isReached === true) {
    return { problems: [], warnings: [] };
  }
  const found = unique(images.flatMap((image) => describeOutside(image, network, { access, isReached })));
  return isReached === null ? { problems: [], warnings: found } : { problems: found, warnings: [] };
}

type Known = { readonly access: InternetAccess; readonly isReached: false | null };

function describeOutside({ imageUri, location }: NamedImage, { region }: VmNetwork, known: Known): readonly Problem[] {
  const reference = parseImageReference(imageUri);
  if (reference === undefined || isGoogleRegistry(reference.host)) {
    return [];
  }
  const { host, repository, tag, digest } = reference;
  const { remoteRepositories } = known.access;
  const remote = Object.hasOwn(remoteRepositories, host) ? remoteRepositories[host] : undefined;
  const copy =
    remote === undefined
      ? `Copy the image to Artifact Registry, or have a repository added that fetches images from ${host} (remote_repositories in Terraform, docs/containers.md)`
      : `Use ${remote}/${repository}${digest === null ? `:${tag}` : `@${digest}`}, which Artifact Registry fetches from ${host}`;
  const message =
    known.isReached === null
      ? `The image ${imageUri} is on ${host}, and this deployment does not know whether VMs in the job's network reach hosts outside of Google.`
      : `The image ${imageUri} is on ${host}, and VMs${region === null ? '' : ` in ${region}`} reach no host outside of Google: their network has no NAT.`;
  const code = known.isReached === null ? 'IMAGE_HOST_NOT_CHECKED' : 'IMAGE_HOST_UNREACHABLE';
  return [{ code, message, remedy: `${copy}; or ${NAT_REMEDY}.`, ...location }];
}
