import { join } from 'node:path';
import { createApi } from '#functions/api.ts';
import { createCloudLogStore } from '#infra/google-cloud/cloud-logging/cloud-log-store.ts';
import { authFor } from '#infra/google-cloud/compose/client-options.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';
import { openArchivedPage } from '#infra/page/page-files.ts';

const LOGGING_URL = 'https://logging.googleapis.com';

/** Beside the bundle in the function's archive. */
const PAGE_DIRECTORY = 'page';

startFunction('api', ({ settings }) => {
  const { PROJECT_ID: projectId, LOGGING_ENDPOINT } = settings;
  const url = (LOGGING_ENDPOINT ?? LOGGING_URL).replace(/\/$/, '');
  const logs = createCloudLogStore({ projectId, url, auth: authFor(LOGGING_ENDPOINT) });
  const page = openArchivedPage(join(import.meta.dirname, PAGE_DIRECTORY));
  return createApi({ ...connectIntake(settings), logs, page });
});
