import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('on-dead-letter', ({ settings, logger }) => createOnDeadLetter({ ...connectIntake(settings), logger }));
