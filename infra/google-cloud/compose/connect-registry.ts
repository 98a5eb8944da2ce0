import type { GoogleAuth } from 'google-auth-library';
import type { Settings } from '#functions/settings.ts';
import { authFor } from '#infra/google-cloud/compose/client-options.ts';
import { connectSecrets } from '#infra/google-cloud/compose/connect-secrets.ts';
import { createImageRegistry } from '#infra/registry/image-registry.ts';
import { ANONYMOUS, type CredentialsOf } from '#infra/registry/registry-credentials.ts';
import { credentialsFromSecrets } from '#infra/registry/secret-credentials.ts';
import { isGoogleRegistry } from '#shared/domain/image-reference.ts';
import type { ImageRegistry } from '#shared/ports/image-registry.ts';

type OwnSettings = Settings<'PROJECT_ID' | 'REGISTRIES' | 'SECRET_MANAGER_ENDPOINT'>;

/** Registries as the function's own account and the deployment's logins may read them. */
export function connectRegistry(settings: OwnSettings): ImageRegistry {
  const { REGISTRIES, SECRET_MANAGER_ENDPOINT: endpoint } = settings;
  const ofAccount = endpoint === undefined ? credentialsOfAccount(authFor(endpoint)) : undefined;
  return createImageRegistry(credentialsFromSecrets(REGISTRIES, connectSecrets(settings), ofAccount), {
    // Secrets of an emulator are those of a test, whose registries are on this machine.
    allowsPrivateAddresses: endpoint !== undefined,
  });
}

/** The access token of the function's account is for Google's own registries only. */
function credentialsOfAccount(auth: GoogleAuth): CredentialsOf {
  return async (host) => {
    const token = isGoogleRegistry(host) ? await auth.getAccessToken() : null;
    if (token === null || token === undefined) {
      return ANONYMOUS;
    }
    const { client_email: email } = await auth.getCredentials();
    return { identity: `the service account ${email ?? 'of this function'}`, login: { kind: 'TOKEN', token } };
  };
}
