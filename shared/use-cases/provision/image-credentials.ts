import { isGoogleRegistry } from '#shared/domain/image-reference.ts';
import type { Registries } from '#shared/protocol/registries.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';

/** How a VM logs in to the registry of its image. */
export type ImageCredentials = Pick<NonNullable<VmConfig['container']>, 'credentials' | 'credentialsSecret'>;

type Deployment = { readonly projectId: string; readonly registries: Registries };

/**
 * By the host of an image: the secret that the deployment lists for it, else the service account of the VM at Google's
 * registries, else none. Never from the job file, which could name another job's secret.
 */
export function imageCredentialsIn(
  { projectId, registries }: Deployment,
  { hasGoogleIdentity }: { readonly hasGoogleIdentity: boolean },
): (host: string) => ImageCredentials {
  return (host) => {
    const listed = registries[host];
    if (listed !== undefined) {
      const credentialsSecret = `projects/${projectId}/secrets/${listed.secret}/versions/latest`;
      return { credentials: 'SECRET', credentialsSecret };
    }
    const credentials = hasGoogleIdentity && isGoogleRegistry(host) ? 'GOOGLE' : 'NONE';
    return { credentials, credentialsSecret: null };
  };
}
