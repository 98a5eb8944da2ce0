import { createWatch } from '#functions/watch.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startEventFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startEventFunction('watch', ({ settings, logger }) => createWatch({ ...connectEvents(settings), logger }));
