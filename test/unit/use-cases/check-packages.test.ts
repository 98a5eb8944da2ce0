import { afterEach, beforeEach, expect, it } from 'vitest';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { checkPackages } from '#shared/use-cases/intake/check-packages.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { zipOf } from '../../support/package/build-archives.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

it('refuses packages that are too large together before it reads any of them', async () => {
  const packageUris = ['gs://uploads/a.tar.gz', 'gs://uploads/b.tar.gz'];
  for (const name of ['a.tar.gz', 'b.tar.gz']) {
    await api.objects.write({ bucket: 'uploads', name }, Buffer.from('x'));
  }
  const objects: typeof api.objects = {
    ...api.objects,
    async stat(object) {
      const info = await api.objects.stat(object);
      return info && { ...info, sizeBytes: PACKAGE_LIMITS.compressedBytesMax / 2 + 1 };
    },
    read: () => Promise.reject(new Error('A package was read.')),
  };
  const { program } = queuedJob().spec;

  const check = await checkPackages({ ...api.ports, objects }, [{ ...program, packageUris }], null);

  expect(check.problems).toMatchObject([
    {
      code: 'ARCHIVE_TOO_LARGE',
      message: 'The packages of the job have 2147483650 bytes in total; the maximum is 2147483648.',
      remedy: expect.stringContaining('reads its data from a bucket'),
    },
  ]);
});

it('pins how each package is made runnable for each program that has it', async () => {
  const [shared, own] = ['gs://uploads/shared.zip', 'gs://uploads/own.py'];
  const files = ['m/train.py', 'm/run/eval.py'].map((path) => ({ path, data: 'print(1)\n' }));
  await api.objects.write({ bucket: 'uploads', name: 'shared.zip' }, zipOf(files));
  await api.objects.write({ bucket: 'uploads', name: 'own.py' }, Buffer.from('print(1)\n'));
  const { program } = queuedJob().spec;
  const image = { uri: '', sizeBytes: 0, entrypoint: ['python3'], cmd: ['-m', 'train'], user: '', workingDir: '' };
  const container = { kind: 'CONTAINER', imageUri: '', image, environment: {}, module: null } as const;
  const programs = [
    { ...program, packageUris: [shared], module: 'run/eval.py' },
    { ...program, packageUris: [shared, own], module: 'own' },
    { ...container, packageUris: [shared], command: [], args: [] },
  ];

  const check = await checkPackages(api.ports, programs, null);

  expect(check.problems).toEqual([]);
  const pinned = check.pin(programs).map(({ uri, layouts }) => ({
    uri,
    layouts: layouts?.map(({ module, layout }) => [module, layout.root, layout.program?.path]),
  }));
  expect(pinned).toEqual([
    {
      uri: shared,
      layouts: [
        ['run/eval.py', 'm', 'm/run/eval.py'],
        ['own', 'm', undefined],
        ['train', 'm', 'm/train.py'],
      ],
    },
    { uri: own, layouts: [['own', '', 'own.py']] },
  ]);
});
