import { describe, expect, it } from 'vitest';
import { readSettings } from '#functions/read-settings.ts';
import { checkEmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { embeddedIntake } from '#infra/embedded/embedded-intake.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import type { Role } from '#shared/domain/job-spec.ts';
import { checkRuntime } from '#shared/use-cases/intake/check-runtime.ts';
import { EXAMPLE_SETTINGS } from '../../support/functions/example-settings.ts';

const RUNTIME_IMAGES = JSON.stringify({
  '2.20': { image: 'dropforge-2-20', pythonVersion: '3.12' },
  vision: { machineImages: ['vision-a'] },
  2.11: { runtime: '2.20', note: 'Keras is 3 there.' },
  lost: { runtime: 'nowhere' },
  both: { machineImages: ['both-a'], image: 'both' },
  sight: { runtime: 'vision' },
});

const MASTER = { role: 'master', bootDiskGib: 100 } as const;

function intakeOf(environment: Readonly<Record<string, string>>) {
  const reading = readSettings('on-upload', environment);
  if ('problem' in reading) {
    throw new Error(reading.problem);
  }
  return connectIntake(reading.settings).intake;
}

describe('the runtime of a job, as the deployment has it', () => {
  const intake = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES });
  const check = (runtimeVersion: string, groups: readonly { role: Role; bootDiskGib: number }[] = [MASTER]) =>
    checkRuntime({ runtimeVersion, pythonVersion: null, dialect: 'ai-platform', replicaGroups: groups }, intake);

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

  it.each([
    ['3.7', ['The job asks for Python 3.7, and the runtime that it gets has Python 3.12.']],
    ['3.1', ['The job asks for Python 3.1, and the runtime that it gets has Python 3.12.']],
    ['3.12', []],
    ['3', []],
    ['3.12.1', []],
  ])('has a Python of its own: who asks for %s is told %j', (pythonVersion, messages) => {
    const asked = { runtimeVersion: '2.20', pythonVersion, dialect: 'dropforge', replicaGroups: [MASTER] } as const;
    const { warnings } = checkRuntime(asked, intake);
    expect(warnings.map(({ message }) => message)).toEqual(messages);
    expect(warnings.every(({ code, path }) => code === 'PYTHON_REPLACED' && path === 'python')).toBe(true);
  });

  it('is this machine’s own Python in the embedded cloud, which says so unless it has an image of that name', async () => {
    const config = checkEmbeddedConfig({ machineImages: [{ name: 'tf-2.20' }] }, 'test');
    const embedded = await embeddedIntake(config, { uploadBucket: 'u', jobsBucket: 'j' });
    const warnedOf = (runtimeVersion: string) =>
      checkRuntime({ runtimeVersion, pythonVersion: null, dialect: 'dropforge', replicaGroups: [MASTER] }, embedded)
        .warnings;
    expect(warnedOf('9.9')).toMatchObject([
      {
        code: 'RUNTIME_REPLACED',
        message: expect.stringMatching(
          /^Runtime 9\.9 is not to be had: the job gets this machine's own Python 3\.\d+\.$/,
        ),
        remedy: expect.stringContaining('whose name ends with 9.9'),
        path: 'runtime',
      },
    ]);
    expect([...warnedOf('2.20'), ...warnedOf(config.runtimeVersionDefault)]).toEqual([]);
  });

  it.each(['vision', 'sight'])('%s has the disk of its machine images and no larger one', (runtimeVersion) => {
    const large = { role: 'worker', bootDiskGib: 500 } as const;
    expect(check(runtimeVersion, [MASTER, large]).problems).toEqual([
      {
        code: 'DISK_OF_MACHINE_IMAGE',
        message:
          'The worker asks for a boot disk of 500 GiB; runtime vision boots from machine images only, and they come with 100 GiB.',
        remedy: expect.stringContaining('or have an image of the runtime added to runtime_images'),
      },
    ]);
  });

  it.each(['2.20', '2.11', 'both'])('%s has an image, and so any disk', (runtimeVersion) => {
    expect(check(runtimeVersion, [{ ...MASTER, bootDiskGib: 500 }]).problems).toEqual([]);
  });

  it.each(['2.9', 'constructor', 'lost'])('%s is refused at intake, with those that there are', (runtimeVersion) => {
    expect(check(runtimeVersion)).toMatchObject({
      problems: [
        {
          code: 'UNKNOWN_RUNTIME',
          message: `This deployment has no image for runtime ${runtimeVersion}.`,
          remedy: 'Write one of 2.20, vision, both, or have it added to runtime_images.',
        },
      ],
    });
  });
});
