import { createApi } from '#functions/api.ts';
import { startHttpFunction } from '#functions/deployed/start-function.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectLogs } from '#infra/google-cloud/compose/connect-logs.ts';

startHttpFunction('api', ({ settings }) => createApi({ ...connectEvents(settings), logs: connectLogs(settings) }));
