import { describe, expect, it } from 'vitest';
import { readSettings } from '#functions/read-settings.ts';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { readEmbeddedIntakeSettings } from '#infra/embedded/embedded-intake.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import type { JobSpec, ReplicaGroup } from '#shared/domain/job-spec.ts';
import { type Dialect, EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { checkParallelTrials } from '#shared/use-cases/intake/checks/parallel-trials.ts';
import { checkRuntime } from '#shared/use-cases/intake/checks/runtime.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { noLog } from '../../support/collected-log.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { STUDY } from '../../support/domain/example-tuning.ts';
import { EXAMPLE_SETTINGS } from '../../support/functions/example-settings.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const RUNTIME_IMAGES = JSON.stringify({
  '2.20': { image: 'dropforge-2-20', pythonVersion: '3.12', gpus: ['nvidia-tesla-t4'] },
  blackwell: { image: 'dropforge-blackwell', gpus: ['nvidia-tesla-t4', 'nvidia-b200'] },
  vision: { machineImages: ['vision-a'] },
  2.11: { runtime: '2.20', note: 'Keras is 3 there.' },
  lost: { runtime: 'nowhere' },
  both: { machineImages: ['both-a'], image: 'both' },
  sight: { runtime: 'vision' },
  grace: { image: 'dropforge-grace', gpus: ['nvidia-gb200'], architecture: 'ARM64' },
  'grace-max': { image: 'dropforge-grace-max', gpus: ['nvidia-gb300'], architecture: 'ARM64' },
});

const OPENED = { uploadBucket: 'u', jobsBucket: 'j', secretNames: exampleIntake.secretNames };

const { spec: SPEC } = queuedJob();
const MASTER: ReplicaGroup = {
  ...SPEC.replicaGroups[0],
  role: 'master',
  bootDiskGib: 100,
  machineType: 'n1-standard-4',
  accelerator: null,
};

type Requested = {
  readonly runtimeVersion: string;
  readonly pythonVersion?: string | null;
  readonly dialect?: Dialect;
  readonly groups?: readonly [ReplicaGroup, ...ReplicaGroup[]];
};

function checkIn(intake: IntakeSettings, { dialect = 'dropforge', groups = [MASTER], ...requested }: Requested) {
  const spec: JobSpec = { ...SPEC, pythonVersion: null, ...requested, replicaGroups: groups };
  return runCheck(checkRuntime, { draft: { ...EMPTY_DRAFT, dialect }, spec }, { intake });
}

function intakeOf(environment: Readonly<Record<string, string>>) {
  const reading = readSettings('on-upload', environment);
  if ('problem' in reading) {
    throw new Error(reading.problem);
  }
  return connectIntake(reading.settings, noLog).intake;
}

describe('the runtime of a job, in a deployment', () => {
  const intake = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES });
  const check = (runtimeVersion: string, groups: Requested['groups'] = [MASTER]) =>
    checkIn(intake, { runtimeVersion, dialect: 'ai-platform', groups });

  it.each(['2.20', 'vision'])('%s exists and has no findings', async (runtimeVersion) => {
    expect(await check(runtimeVersion)).toMatchObject({ problems: [], warnings: [] });
  });

  it('is replaced for a version without an image, with a warning that says by what and how it differs', async () => {
    expect(await check('2.11')).toMatchObject({
      problems: [],
      warnings: [
        {
          code: 'RUNTIME_REPLACED',
          message: 'Runtime 2.11 is not available: the job runs on 2.20. Keras is 3 there.',
          remedy:
            'Check that the program runs on 2.20 and set it as the runtime version, or have an image of your own added.',
          path: 'trainingInput.runtimeVersion',
        },
      ],
    });
    expect(intake.runtimeOf('2.11')?.pythonVersion).toBe('3.12');
  });

  it.each([
    ['3.7', ['The job requests Python 3.7, but its runtime has Python 3.12.']],
    ['3.1', ['The job requests Python 3.1, but its runtime has Python 3.12.']],
    ['3.12', []],
    ['3', []],
    ['3.12.1', []],
  ])('has the Python of its image: a request for %s is answered with %j', async (pythonVersion, messages) => {
    const { warnings } = await checkIn(intake, { runtimeVersion: '2.20', pythonVersion });
    expect(warnings.map(({ message }) => message)).toEqual(messages);
    expect(warnings.every(({ code, path }) => code === 'PYTHON_REPLACED' && path === 'python')).toBe(true);
  });

  it('is the Python of this machine in the embedded cloud, with a warning unless an image has that name', async () => {
    const config = parseEmbeddedConfig({ machineImages: [{ name: 'tf-2.20' }] }, 'test');
    const embedded = await readEmbeddedIntakeSettings(config, OPENED, process.env);
    const warnedOf = async (runtimeVersion: string) => (await checkIn(embedded, { runtimeVersion })).warnings;
    expect(await warnedOf('9.9')).toMatchObject([
      {
        code: 'RUNTIME_REPLACED',
        message: expect.stringMatching(
          /^Runtime 9\.9 is not available: the job runs on this machine's own Python 3\.\d+\.$/,
        ),
        remedy: expect.stringContaining('whose name ends with 9.9'),
        path: 'runtime',
      },
    ]);
    expect([...(await warnedOf('2.20')), ...(await warnedOf(config.runtimeVersionDefault))]).toEqual([]);
  });

  it.each(['vision', 'sight'])('%s offers only the disk size of its machine images', async (runtimeVersion) => {
    const large = { ...MASTER, role: 'worker', bootDiskGib: 500 } as const;
    expect((await check(runtimeVersion, [MASTER, large])).problems).toEqual([
      {
        code: 'DISK_OF_MACHINE_IMAGE',
        message:
          'The worker requests a boot disk of 500 GiB, but runtime vision boots from machine images only, whose disk has 100 GiB.',
        remedy: expect.stringContaining('or have an image of the runtime added to runtime_images'),
      },
    ]);
  });

  it.each(['2.20', '2.11', 'both'])('%s boots from an image and offers any disk size', async (runtimeVersion) => {
    expect((await check(runtimeVersion, [{ ...MASTER, bootDiskGib: 500 }])).problems).toEqual([]);
  });

  it('is rejected for a GPU that its driver does not support, with the runtimes that do', async () => {
    const blackwell = { ...MASTER, role: 'worker', machineType: 'a4-highgpu-8g' } as const;
    expect((await check('2.20', [MASTER, blackwell, { ...blackwell, role: 'evaluator' }])).problems).toEqual([
      {
        code: 'GPU_NOT_IN_RUNTIME',
        message: 'The image of runtime 2.20 does not support the GPU nvidia-b200.',
        remedy: 'Choose the runtime blackwell.',
        path: 'trainingInput.runtimeVersion',
      },
    ]);
    expect((await check('blackwell', [blackwell])).problems).toEqual([]);
    const rare = { ...MASTER, accelerator: { type: 'nvidia-tesla-v100', count: 1 } } as const;
    expect((await check('2.11', [rare])).problems).toMatchObject([
      { remedy: 'Choose another GPU, or have an image for it added to runtime_images.' },
    ]);
  });

  const arm = { ...MASTER, machineType: 'a4x-highgpu-4g', bootDiskGib: 100 } as const;

  it('is rejected for a machine type with other processors, with the runtimes that have those and its GPU', async () => {
    expect((await check('2.20', [arm, { ...arm, role: 'worker' }])).problems).toEqual([
      {
        code: 'RUNTIME_ARCHITECTURE',
        message:
          'The master runs on a4x-highgpu-4g, whose processors are ARM64, and the image of runtime 2.20 is for X86_64.',
        remedy: 'Choose the runtime grace, or a machine type with X86_64 processors.',
        path: 'trainingInput.runtimeVersion',
      },
    ]);
    expect((await check('grace', [arm])).problems).toEqual([]);
    expect((await check('grace', [MASTER])).problems).toMatchObject([
      {
        message: expect.stringContaining('n1-standard-4, whose processors are X86_64, and the image of runtime grace'),
      },
    ]);
  });

  it('is rejected for a machine type for whose processors there is none, with the line of Terraform', async () => {
    const images = { '2.20': { image: 'dropforge-2-20' } };
    const other = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES: JSON.stringify(images) });
    expect((await checkIn(other, { runtimeVersion: '2.20', groups: [arm] })).problems).toMatchObject([
      {
        code: 'RUNTIME_ARCHITECTURE',
        remedy:
          'Choose a machine type with X86_64 processors, or have an image added to terraform.tfvars, runtime_images = { …, "2.20-arm64" = { image = "IMAGE", architecture = "ARM64" } }, and choose that runtime.',
      },
    ]);
  });

  it('is rejected for machines with different processors, since all of them boot from it', async () => {
    expect((await check('grace', [arm, { ...MASTER, role: 'worker' }])).problems).toMatchObject([
      {
        code: 'RUNTIME_ARCHITECTURE',
        message: expect.stringMatching(/^The worker runs on n1-standard-4/),
        remedy: 'All machines of a job boot from one runtime: choose machine types with ARM64 processors only.',
      },
    ]);
  });

  it('is rejected for a machine type that boots from no machine image, if it has nothing else', async () => {
    expect((await check('vision', [{ ...MASTER, machineType: 'a3-highgpu-8g' }])).problems).toMatchObject([
      {
        code: 'MACHINE_TYPE_NEEDS_IMAGE',
        message:
          'The master runs on a3-highgpu-8g, which cannot be created from a machine image, and runtime vision has nothing else.',
        remedy:
          'Choose another machine type, or have an image of the runtime added to terraform.tfvars, runtime_images = { …, "vision" = { image = "IMAGE" } }.',
      },
    ]);
    expect((await check('both', [{ ...MASTER, machineType: 'a3-highgpu-8g' }])).problems).toEqual([]);
  });

  it('boots on every machine type in the embedded cloud, whose processors are those of this machine', async () => {
    const config = parseEmbeddedConfig({ machineImages: [{ name: 'tf-2.20' }] }, 'test');
    const embedded = await readEmbeddedIntakeSettings(config, OPENED, process.env);
    expect((await checkIn(embedded, { runtimeVersion: '2.20', groups: [arm, MASTER] })).problems).toEqual([]);
    expect(embedded.architectureOf('a4x-highgpu-4g')).toBe(process.arch === 'arm64' ? 'arm64' : 'amd64');
  });

  it('supports any GPU if its image lists none', async () => {
    const attached = { ...MASTER, accelerator: { type: 'nvidia-b200', count: 8 } } as const;
    expect((await check('both', [attached])).problems).toEqual([]);
  });

  it.each(['2.9', 'constructor', 'lost'])(
    '%s is rejected at intake, with the available versions in the remedy',
    async (runtimeVersion) => {
      expect(await check(runtimeVersion)).toMatchObject({
        problems: [
          {
            code: 'UNKNOWN_RUNTIME',
            message: `This deployment has no image for runtime ${runtimeVersion}.`,
            remedy:
              'Choose one of 2.20, blackwell, vision, both, grace, grace-max, or have an image added to runtime_images.',
          },
        ],
      });
    },
  );
});

describe('the parallel trials of a tuning', () => {
  const tuning: JobSpec = { ...SPEC, study: { ...STUDY, parallelTrialsMax: 10 } };
  const limit = (intake: Partial<IntakeSettings>, spec = tuning) => runCheck(checkParallelTrials, { spec }, { intake });

  it('are limited to those that have VMs at the same time on this machine, with a warning', async () => {
    const config = parseEmbeddedConfig({ vmsMax: 2 }, 'test');
    const embedded = await readEmbeddedIntakeSettings(config, OPENED, process.env);
    const limited = await limit(embedded);
    expect(limited.pins.spec).toEqual({ ...tuning, study: { ...tuning.study, parallelTrialsMax: 2 } });
    expect(limited.warnings).toMatchObject([
      {
        code: 'PARALLEL_TRIALS_LIMITED',
        message: '2 of the 10 parallel trials run at a time: this machine runs at most 2 VMs at a time.',
      },
    ]);
    expect(await limit(embedded, { ...SPEC, study: STUDY })).toMatchObject({ pins: {}, warnings: [] });
  });

  it('are one at a time if one needs more than half of the VMs', async () => {
    const [master] = SPEC.replicaGroups;
    const { vmLimits } = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES, VMS_MAX: '5' });
    const cluster: JobSpec = { ...tuning, replicaGroups: [master, { ...master, role: 'worker', count: 2 }] };
    expect((await limit({ vmLimits }, cluster)).pins.spec?.study?.parallelTrialsMax).toBe(1);
  });

  it('are as many as requested in a deployment, whose zones have capacity or not', async () => {
    const intake = intakeOf({ ...EXAMPLE_SETTINGS, RUNTIME_IMAGES });
    expect(await limit(intake)).toMatchObject({ pins: {}, warnings: [] });
  });
});
