import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createOnInterruption } from '#functions/on-interruption.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';

startEventFunction('on-interruption', ({ settings, logger }) =>
  createOnInterruption({ ...connectEvents(settings), logger }),
);
