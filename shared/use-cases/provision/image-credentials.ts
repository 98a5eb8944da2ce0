import { isGoogleRegistry } from '#shared/domain/image-reference.ts';
import type { Registries } from '#shared/protocol/registries.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';

/** How a VM logs in to the registry of its image. */
export type ImageCredentials = NonNullable<VmConfig['program']['container']>['credentials'];

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
      return { kind: 'SECRET', secret: `projects/${projectId}/secrets/${listed.secret}/versions/latest` };
    }
    return { kind: hasGoogleIdentity && isGoogleRegistry(host) ? 'GOOGLE' : 'NONE', secret: '' };
  };
}
