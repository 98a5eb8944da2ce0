import type { Settings } from '#functions/settings.ts';
import { authFor, urlOf } from '#infra/google-cloud/compose/client-options.ts';
import { createSecretManagerReader } from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

/** The secrets that the function's own account may read. */
export function connectSecrets(settings: Settings<'PROJECT_ID' | 'SECRET_MANAGER_ENDPOINT'>): SecretReader {
  const { PROJECT_ID: projectId, SECRET_MANAGER_ENDPOINT: endpoint } = settings;
  const url = urlOf('secretmanager', endpoint);
  return createSecretManagerReader({ projectId, url, auth: authFor(endpoint) });
}
