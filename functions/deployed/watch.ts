import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createWatch } from '#functions/watch.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';

startEventFunction('watch', ({ settings, logger }) => createWatch({ ...connectEvents(settings), logger }));
