import { createOnSubmit } from '#functions/on-submit.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('on-submit', ({ settings, logger }) => createOnSubmit({ ...connectIntake(settings), logger }));
