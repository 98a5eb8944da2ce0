import { createReport } from '#functions/report.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { startEventFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startEventFunction('report', ({ settings, logger }) =>
  createReport({ ...connectState(settings), objects: connectObjects(settings), logger }),
);
