import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '#functions/settings.ts';
import { findRuntime } from '#infra/google-cloud/compute-engine/boot-source.ts';
import {
  imageNamesOf,
  RUNTIMES,
  runtimeImageOf,
  runtimeImagesFor,
  runtimesSchema,
} from '#infra/machine-image/read-runtimes.ts';
import { readCatalog } from '#shared/catalog/catalog.ts';

const ROOT = join(import.meta.dirname, '../../..');
const OPTIONS = { projectId: 'my-project', build: 'v7' };
const names = RUNTIMES.runtimes.map(({ name }) => name);
const aliases = RUNTIMES.runtimes.flatMap((runtime) =>
  runtime.aliases.flatMap(({ versions }) => versions.map((version) => [version, runtime.name] as const)),
);

describe('the default runtimes', () => {
  it('have unique names and aliases, and a default among them', () => {
    const all = [...names, ...aliases.map(([version]) => version)];
    expect(all.length).toBeGreaterThan(50);
    expect(new Set(all).size).toBe(all.length);
    expect(names).toContain(RUNTIMES.default);
  });

  it('support only GPUs of the catalog', () => {
    const known = readCatalog().accelerators.map(({ name }) => name);
    expect(RUNTIMES.runtimes.flatMap(({ gpus }) => gpus).filter((gpu) => !known.includes(gpu))).toEqual([]);
  });

  it('support each GPU with the kernel modules that it requires', () => {
    const wrong = RUNTIMES.runtimes.filter(({ gpus, driver }) =>
      gpus.some(
        (gpu) =>
          (/-(p4|p100|v100)$/.test(gpu) && driver.modules === 'open') ||
          (/b200|rtx-pro/.test(gpu) && driver.modules === 'proprietary'),
      ),
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('contain the packages that build others offline, and install them', () => {
    const builders = ['pip', 'setuptools', 'wheel', 'uv'];
    const lacking = RUNTIMES.runtimes.filter(({ packages }) =>
      builders.some((name) => !packages.some((pin) => pin.startsWith(`${name}==`))),
    );
    expect(lacking.map(({ name }) => name)).toEqual([]);
  });

  it.each([
    ['an unpinned version', { packages: ['torch>=2'] }],
    ['an unknown field', { cuda: '12' }],
    ['an unsupported Python', { pythonVersion: '2.7' }],
  ])('reject %s', (_, change) => {
    const [first, ...others] = RUNTIMES.runtimes;
    expect(runtimesSchema.safeParse({ ...RUNTIMES, runtimes: [{ ...first, ...change }, ...others] }).success).toBe(
      false,
    );
  });
});

describe('the runtime of a version', () => {
  const images = runtimeImagesFor(OPTIONS);

  it.each(names)('is %s itself if it has an image', (name) => {
    expect(findRuntime(images, name)?.name).toBe(name);
  });

  it.each([
    ['2.11', '2.15'],
    ['1.14', '2.15'],
    ['2.17', '2.20'],
    ['pytorch-1.13', 'pytorch-2.9'],
    ['xgboost-1.1', 'scikit-learn-1.7'],
  ])('of %s is the nearest, %s, with a note on the differences', (version, name) => {
    expect(findRuntime(images, version)).toEqual({ name, image: images[name] });
    expect(images[version]).toEqual({ runtime: name, note: expect.stringMatching(/\.$/) });
  });

  it('is undefined for an unknown version', () => {
    const unknown = ['9.9', '', 'constructor', '2'].map((version) => findRuntime(images, version));
    expect(unknown).toEqual(Array(4).fill(undefined));
  });
});

describe('the images of a build', () => {
  it('are named after runtime and build', () => {
    const found = RUNTIMES.runtimes.find(({ name }) => name === '2.20');
    expect(found && imageNamesOf(found, 'v7')).toEqual({
      image: 'dropforge-2-20-v7',
      machineImages: ['dropforge-2-20-v7-a', 'dropforge-2-20-v7-b'],
    });
  });

  it('form a valid setting of the functions, with every known version', () => {
    const images = runtimeImagesFor(OPTIONS);
    expect(Object.keys(images).toSorted()).toEqual([...names, ...aliases.map(([version]) => version)].toSorted());
    expect(SETTINGS.RUNTIME_IMAGES.safeParse(JSON.stringify(images)).success).toBe(true);
    expect(images['2.15']).toEqual({
      machineImages: ['a', 'b'].map((copy) => `projects/my-project/global/machineImages/dropforge-2-15-v7-${copy}`),
      image: 'projects/my-project/global/images/dropforge-2-15-v7',
      pythonVersion: '3.10',
      gpus: expect.arrayContaining(['nvidia-tesla-t4', 'nvidia-tesla-v100']),
    });
    expect(images['2.15']).not.toMatchObject({ gpus: expect.arrayContaining(['nvidia-b200']) });
  });

  it('are for the processors of their base image, which are named if they are Arm', () => {
    const [first] = RUNTIMES.runtimes;
    const arm = first && runtimeImageOf({ ...first, architecture: 'ARM64' }, OPTIONS);
    expect(arm).toMatchObject({ architecture: 'ARM64' });
    expect(SETTINGS.RUNTIME_IMAGES.parse(JSON.stringify({ arm }))).toMatchObject({ arm: { architecture: 'ARM64' } });
    const others = RUNTIMES.runtimes.filter(
      ({ base, architecture }) => /arm64/.test(base.family) !== (architecture === 'ARM64'),
    );
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  it('use at most half of the 32 KiB of an environment variable', () => {
    expect(JSON.stringify(runtimeImagesFor(OPTIONS)).length).toBeLessThan(16 * 1024);
  });

  it('are printed as Terraform variables', () => {
    const { status, stdout } = print('--project', 'my-project', '--build', 'v7');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      jobs: { runtime_version: '2.20' },
      runtime_images: {
        '2.20': {
          image: 'projects/my-project/global/images/dropforge-2-20-v7',
          python_version: '3.12',
          gpus: expect.arrayContaining(['nvidia-l4']),
        },
        '2.17': { runtime: '2.20' },
      },
    });
  });

  it.each([[[]], [['--project', 'my-project']], [['--project', 'p', '--build', 'V 7']], [['--colour']]])(
    'are not printed for the arguments %j',
    (args) => {
      expect(print(...args)).toMatchObject({ status: 2, stdout: '' });
    },
  );
});

function print(...args: readonly string[]) {
  return spawnSync(process.execPath, ['infra/machine-image/print-runtime-images.ts', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
}
