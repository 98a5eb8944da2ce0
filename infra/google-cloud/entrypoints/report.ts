import { createReport } from '#functions/report.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('report', ({ settings, logger }) =>
  createReport({ ...connectState(settings), objects: connectObjects(settings), logger }),
);
