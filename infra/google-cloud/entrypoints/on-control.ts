import { createOnControl } from '#functions/on-control.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startEventFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startEventFunction('on-control', ({ settings, logger }) => createOnControl({ ...connectEvents(settings), logger }));
