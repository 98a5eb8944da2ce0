import type { Settings } from '#functions/settings.ts';
import { authFor, urlOf } from '#infra/google-cloud/compose/client-options.ts';
import { createSecretManagerReader } from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

type OwnSettings = Settings<'PROJECT_ID' | 'SECRET_MANAGER_ENDPOINT'>;

/** The secrets whose values or names the function's own account may read. */
export function connectSecrets(settings: OwnSettings): SecretReader & SecretNames {
  const { PROJECT_ID: projectId, SECRET_MANAGER_ENDPOINT: endpoint } = settings;
  const url = urlOf('secretmanager', endpoint);
  return createSecretManagerReader({ projectId, url, auth: authFor(endpoint) });
}
