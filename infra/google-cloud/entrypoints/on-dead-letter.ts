import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startEventFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startEventFunction('on-dead-letter', ({ settings, logger }) =>
  createOnDeadLetter({ ...connectIntake(settings), logger }),
);
