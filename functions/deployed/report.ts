import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createReport } from '#functions/report.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';

startEventFunction('report', ({ settings, logger }) =>
  createReport({ ...connectState(settings), objects: connectObjects(settings), logger }),
);
