import { afterEach, beforeEach, expect, it } from 'vitest';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { checkPackages } from '#shared/use-cases/intake/check-packages.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

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
