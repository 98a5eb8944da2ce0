import { describe, expect, it } from 'vitest';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { checkRuntime } from '#shared/pipeline/check-runtime.ts';
import { readSettings } from '../../../functions/settings.ts';
import { EXAMPLE_SETTINGS } from '../functions/example-settings.ts';

const RUNTIME_IMAGES = JSON.stringify({
  '2.20': { image: 'dropforge-2-20', pythonVersion: '3.12' },
  vision: { machineImages: ['vision-a'] },
  2.11: { runtime: '2.20', note: 'Keras is 3 there.' },
  lost: { runtime: 'nowhere' },
});

function intakeOf(environment: Readonly<Record<string, string>>) {
  const reading = readSettings('on-upload', environment);
  if ('problem' in reading) {
    throw new Error(reading.problem);
  }
  return connectIntake(reading.settings).intake;
}

describe('the runtime of a job, as the deployment has it', () => {
  const intake = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES });
  const check = (runtimeVersion: string) => checkRuntime({ runtimeVersion, dialect: 'ai-platform' }, intake);

  it.each(['2.20', 'vision'])('%s is there, and nothing is to be said', (runtimeVersion) => {
    expect(check(runtimeVersion)).toEqual({ problems: [], warnings: [] });
  });

  it('is another one for a version that has none any more, and a warning says which and how it differs', () => {
    expect(check('2.11')).toEqual({
      problems: [],
      warnings: [
        {
          code: 'RUNTIME_REPLACED',
          message: 'Runtime 2.11 is not to be had: the job gets 2.20. Keras is 3 there.',
          remedy: 'See that the program runs there, and write 2.20; or have an image of your own made.',
          path: 'trainingInput.runtimeVersion',
        },
      ],
    });
    expect(intake.runtimeOf('2.11')?.pythonVersion).toBe('3.12');
  });

  it.each(['2.9', 'constructor', 'lost'])('%s is refused at intake, with those that there are', (runtimeVersion) => {
    expect(check(runtimeVersion)).toMatchObject({
      problems: [
        {
          code: 'UNKNOWN_RUNTIME',
          message: `This deployment has no image for runtime ${runtimeVersion}.`,
          remedy: 'Write one of 2.20, vision, or have it added to runtime_images.',
        },
      ],
    });
  });
});
