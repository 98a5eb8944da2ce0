import { startEventFunction } from '#functions/deployed/start-function.ts';
import { createOnUpload } from '#functions/on-upload.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';

startEventFunction('on-upload', ({ settings, logger }) => createOnUpload({ ...connectIntake(settings), logger }));
