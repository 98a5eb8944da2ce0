import { isGoogleRegistry, parseImageReference } from '#shared/domain/image-reference.ts';
import { unique } from '#shared/job-file/parser/findings.ts';
import { type InternetAccess, NAT_REMEDY, reachesInternet, type VmNetwork } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Found, NamedImage } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

type Image = Omit<NamedImage, 'role'>;

/** The part of a job that is known of a job file alone: `dropforge jobs validate` makes this check, too. */
type ImagesInNetwork = { readonly images: readonly Image[]; readonly spec: VmNetwork };

/** Problems with images that VMs cannot pull, and warnings where that is not known. */
export function checkImageHosts(
  { images, spec }: ImagesInNetwork,
  { intake: { internetAccess: access } }: { readonly intake: Pick<IntakeSettings, 'internetAccess'> },
): Found {
  const isReached = access === undefined ? true : reachesInternet(spec, access);
  if (access === undefined || isReached === true) {
    return {};
  }
  const found = unique(images.flatMap((image) => describeOutside(image, spec, { access, isReached })));
  return isReached === null ? { warnings: found } : { problems: found };
}

type Known = { readonly access: InternetAccess; readonly isReached: false | null };

function describeOutside({ imageUri, location }: Image, { region }: VmNetwork, known: Known): readonly Problem[] {
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
