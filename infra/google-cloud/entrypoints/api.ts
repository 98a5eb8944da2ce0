import { createApi } from '#functions/api.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectLogs } from '#infra/google-cloud/compose/connect-logs.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('api', ({ settings }) => createApi({ ...connectEvents(settings), logs: connectLogs(settings) }));
