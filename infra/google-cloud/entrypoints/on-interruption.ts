import { createOnInterruption } from '#functions/on-interruption.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('on-interruption', ({ settings, logger }) =>
  createOnInterruption({ ...connectEvents(settings), logger }),
);
