import { createOnUpload } from '#functions/on-upload.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';

startFunction('on-upload', ({ settings, logger }) => createOnUpload({ ...connectIntake(settings), logger }));
