import * as z from 'zod';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { NETWORK_PATTERN } from '#shared/protocol/resource-names.ts';

const regionsSchema = z.array(z.string().regex(/^[a-z]+-[a-z]+\d+$/));

/**
 * The hosts outside of Google from which VMs can download. Their network has NAT or a proxy; Google's services need
 * neither.
 */
export const internetAccessSchema = z.object({
  /** The regions with a way out of the deployment's own network; undefined if that is not known. */
  regions: regionsSchema.optional(),
  /** The same of networks that jobs may name; what is missing is not known. */
  networks: z.record(z.string().regex(NETWORK_PATTERN), regionsSchema).default({}),
  /** Artifact Registry's address, `us-docker.pkg.dev/project/repository`, of the images of another registry. */
  remoteRepositories: z.record(z.string(), z.string()).default({}),
});

export type InternetAccess = z.infer<typeof internetAccessSchema>;

/** Where a job's VMs are. Without a region, its deployment chooses one. */
export type VmNetwork = Pick<JobSpec, 'network' | 'networkAttachment'> & { readonly region: string | null };

/** Whether VMs reach hosts outside of Google; null if that is not known. */
export function reachesInternet(
  { network, networkAttachment, region }: VmNetwork,
  { regions, networks }: InternetAccess,
): boolean | null {
  const known = network === null ? regions : Object.hasOwn(networks, network) ? networks[network] : undefined;
  if (known === undefined || (region === null && known.length > 0)) {
    return null;
  }
  const isRegionKnown = region !== null && known.includes(region);
  // The second interface of a VM is in another network.
  return isRegionKnown ? true : networkAttachment === null ? false : null;
}

/** How VMs get a way out. */
export const NAT_REMEDY =
  'have NAT added (network = { nat = true } in Terraform; for other networks, internet_regions says where they have it)';
