import { expect, it } from 'vitest';
import { architectureOf } from '#shared/catalog/catalog.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { checkPrograms } from '#shared/use-cases/intake/checks/programs.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { sourceOf, wheelOf } from '../../support/package/build-archives.ts';
import { inspectedPackagesOf } from '../../support/package/inspected-package.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

/** The problems of a job whose master has this machine type and whose package is a wheel with this platform tag. */
async function problemsOf(machineType: string, platform: string): Promise<readonly string[]> {
  const report = await inspectPackage(sourceOf('trainer-1.0-py3-none-any.whl', wheelOf()));
  const wheel = { ...report, wheelTags: [`cp311-cp311-${platform}`] };
  const { spec } = queuedJob();
  const replicaGroups = [{ ...spec.replicaGroups[0], machineType }] as const;
  const intake = { runtimeOf: () => undefined, architectureOf };
  const job = { spec: { ...spec, replicaGroups }, packages: inspectedPackagesOf(spec, wheel) };
  const { problems } = await runCheck(checkPrograms, job, { intake });
  return problems.map(({ code }) => code);
}

it('a wheel for other processors than those of the machines is refused before a VM is created', async () => {
  expect(await problemsOf('c4a-standard-4', 'manylinux_2_28_x86_64')).toEqual(['WHEEL_PLATFORM_UNSUITABLE']);
  expect(await problemsOf('n1-standard-4', 'manylinux_2_28_aarch64')).toEqual(['WHEEL_PLATFORM_UNSUITABLE']);
});

it('a wheel for the processors of the machines is accepted', async () => {
  expect(await problemsOf('c4a-standard-4', 'manylinux_2_28_aarch64')).toEqual([]);
  expect(await problemsOf('n1-standard-4', 'manylinux_2_28_x86_64')).toEqual([]);
});
