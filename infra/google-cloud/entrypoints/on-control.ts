import { createOnControl } from '#functions/on-control.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('on-control', ({ settings, logger }) => createOnControl({ ...connectEvents(settings), logger }));
