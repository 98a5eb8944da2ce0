import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createOnSubmit } from '#functions/on-submit.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';

startEventFunction('on-submit', ({ settings, logger }) => createOnSubmit({ ...connectIntake(settings), logger }));
