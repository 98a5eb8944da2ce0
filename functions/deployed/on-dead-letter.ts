import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';

startEventFunction('on-dead-letter', ({ settings, logger }) =>
  createOnDeadLetter({ ...connectIntake(settings), logger }),
);
