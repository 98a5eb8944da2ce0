import { createApi } from '#functions/api.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectLogs } from '#infra/google-cloud/compose/connect-logs.ts';
import { startHttpFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startHttpFunction('api', ({ settings }) => createApi({ ...connectEvents(settings), logs: connectLogs(settings) }));
