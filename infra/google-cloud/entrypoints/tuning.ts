import { createTuning } from '#functions/tuning.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('tuning', ({ settings, logger }) => createTuning({ ...connectEvents(settings), logger }));
