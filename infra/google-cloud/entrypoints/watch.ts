import { createWatch } from '#functions/watch.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('watch', ({ settings, logger }) => createWatch({ ...connectEvents(settings), logger }));
