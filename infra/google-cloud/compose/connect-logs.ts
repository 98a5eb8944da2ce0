import type { Settings } from '#functions/settings.ts';
import { createCloudLogStore } from '#infra/google-cloud/cloud-logging/cloud-log-store.ts';
import { authFor } from '#infra/google-cloud/compose/auth-for.ts';
import type { LogStore } from '#shared/ports/log-store.ts';

const LOGGING_URL = 'https://logging.googleapis.com';

/** What VMs have written to Cloud Logging. */
export function connectLogs({ PROJECT_ID, LOGGING_ENDPOINT }: Settings<'PROJECT_ID' | 'LOGGING_ENDPOINT'>): LogStore {
  const url = (LOGGING_ENDPOINT ?? LOGGING_URL).replace(/\/$/, '');
  return createCloudLogStore({ projectId: PROJECT_ID, url, auth: authFor(LOGGING_ENDPOINT) });
}
