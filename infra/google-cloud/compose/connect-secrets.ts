import type { Settings } from '#functions/settings.ts';
import { authFor, urlOf } from '#infra/google-cloud/compose/client-options.ts';
import { createSecretManagerNames } from '#infra/google-cloud/secret-manager/secret-manager-names.ts';
import {
  createSecretManagerReader,
  type SecretReaderOptions,
} from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

type OwnSettings = Settings<'PROJECT_ID' | 'SECRET_MANAGER_ENDPOINT'>;

/** The secrets that the function's own account may read. */
export function connectSecrets(settings: OwnSettings): SecretReader {
  return createSecretManagerReader(optionsOf(settings));
}

/** The names of all secrets whose metadata the function's own account may read. */
export function connectSecretNames(settings: OwnSettings): SecretNames {
  return createSecretManagerNames(optionsOf(settings));
}

function optionsOf({ PROJECT_ID: projectId, SECRET_MANAGER_ENDPOINT: endpoint }: OwnSettings): SecretReaderOptions {
  return { projectId, url: urlOf('secretmanager', endpoint), auth: authFor(endpoint) };
}
