/**
 * A project id (`my-project`, in old organizations `example.com:my-project`) or number (Resource Manager, "Projects").
 */
const PROJECT = '(?:[a-z0-9.-]{1,100}:)?[a-z0-9][a-z0-9-]{0,61}';

/** Compute Engine resource names follow RFC 1035. */
const NAME = '[a-z]([a-z0-9-]{0,61}[a-z0-9])?';
const REGION = '[a-z]+-[a-z]+[0-9]+';

/** User-managed, default and Google-managed service accounts (IAM, "Types of service accounts"). */
export const SERVICE_ACCOUNT_PATTERN = /^[a-z0-9][a-z0-9._-]{0,99}@([a-z0-9-]+\.){1,8}gserviceaccount\.com$/;

/** Full names of networks, as TrainingInput.network and CustomJobSpec.network have them, and of what is in them. */
export const NETWORK_PATTERN = new RegExp(`^projects/${PROJECT}/global/networks/${NAME}$`);
export const SUBNETWORK_PATTERN = new RegExp(`^projects/${PROJECT}/regions/${REGION}/subnetworks/${NAME}$`);
export const NETWORK_ATTACHMENT_PATTERN = new RegExp(
  `^projects/${PROJECT}/regions/${REGION}/networkAttachments/${NAME}$`,
);
export const RESOURCE_NAME_PATTERN = new RegExp(`^${NAME}$`);

/** Cloud KMS, "Object hierarchy". */
export const KMS_KEY_PATTERN = new RegExp(
  `^projects/${PROJECT}/locations/[a-z0-9-]{1,63}/keyRings/[\\w-]{1,63}/cryptoKeys/[\\w-]{1,63}$`,
);

/** The region of a regional resource, or the location of a key; undefined if the name has none. */
export function locationOfResource(name: string): string | undefined {
  return /^projects\/[^/]+\/(?:regions|locations)\/([^/]+)\//.exec(name)?.[1];
}

/** The last part of a resource name, or the name itself. */
export function shortNameOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
