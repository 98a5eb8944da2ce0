import { afterEach, beforeEach, expect, it } from 'vitest';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { checkPackages, packageRefsOf } from '#shared/use-cases/intake/checks/packages.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { zipOf } from '../../support/package/build-archives.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

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
  const { spec } = queuedJob();

  const job = { spec: { ...spec, program: { ...spec.program, packageUris } } };
  const { problems } = await runCheck(checkPackages, job, { objects });

  expect(problems).toMatchObject([
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
  const { spec } = queuedJob();
  const { program } = spec;
  const [master] = spec.replicaGroups;
  const image = { uri: '', sizeBytes: 0, entrypoint: ['python3'], cmd: ['-m', 'train'], user: '', workingDir: '' };
  const container = { kind: 'CONTAINER', imageUri: '', image, environment: {}, module: null } as const;
  const [first, ...others] = [
    { ...program, packageUris: [shared], module: 'run/eval.py' },
    { ...program, packageUris: [shared, own], module: 'own' },
    { ...container, packageUris: [shared], command: [], args: [] },
  ] as const;

  const replicaGroups = [{ ...master, program: first }, ...others.map((program) => ({ ...master, program }))] as const;
  const { problems, pins } = await runCheck(
    checkPackages,
    { spec: { ...spec, replicaGroups } },
    { objects: api.objects },
  );

  expect(problems).toEqual([]);
  const pinned = packageRefsOf({ spec, packages: [], ...pins }).map(({ uri, layouts }) => ({
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
