import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createOnControl } from '#functions/on-control.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';

startEventFunction('on-control', ({ settings, logger }) => createOnControl({ ...connectEvents(settings), logger }));
