import { describe, expect, it } from 'vitest';
import { packagesOfImage } from '#infra/machine-image/image-packages.ts';
import { imageNamesOf, RUNTIMES, runtimeFor } from '#infra/machine-image/read-runtimes.ts';
import type { InternetAccess } from '#shared/protocol/internet-access.ts';
import { checkPrograms } from '#shared/use-cases/intake/checks/programs.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { inspectedPackagesOf } from '../../support/package/inspected-package.ts';
import { lint, reportOf, setupOf } from '../../support/package/lint-subject.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const IMAGE = runtimeFor('2.20')?.packages ?? [];
const BACKEND = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n';
const PROJECT = '[project]\nname = "trainer"\nversion = "1"\ndependencies = []\n';

/** The messages of a package without a way out, if nothing else is given. */
async function messagesOf(files: Readonly<Record<string, string>>, job: Parameters<typeof lint>[1] = {}) {
  const given = { imagePackages: IMAGE, reachesInternet: false, ...job };
  const { problems, warnings } = lint([await reportOf(files)], given);
  return [...problems, ...warnings].flatMap(({ code, message }) => (code === 'NOT_IN_IMAGE' ? [message] : []));
}

describe('NOT_IN_IMAGE', () => {
  it.each([
    ['what the image has', ['numpy', 'tensorflow>=2.16,<3', 'pandas~=2.3', 'cloudml-hypertune>=0.1'], null],
    ['what the packages of the image require', ['requests', 'h5py>=3', 'nvidia-cudnn-cu12'], null],
    ['the package itself', ['trainer'], null],
    ['what does not apply to the VM', ['pywin32; sys_platform == "win32"'], null],
    ['another package', ['transformers>=4.40', 'numpy'], 'lacks transformers>=4.40, and VMs'],
    ['another version', ['numpy<2'], 'lacks numpy<2, and VMs'],
    ['a URL', ['numpy @ https://example.org/numpy.whl'], 'lacks numpy @ https://example.org/numpy.whl, and'],
    ['many packages', ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'], 'lacks a1, a2, a3, a4, a5 and 2 more, and'],
  ])('is reported, once, for what pip would download: %s', async (_, requirements, expected) => {
    const messages = await messagesOf(setupOf(...requirements));
    expect(messages).toEqual(expected === null ? [] : [expect.stringContaining(expected)]);
  });

  it('names a build backend that the image lacks, unless nothing is built', async () => {
    expect(await messagesOf({ 'pyproject.toml': `${BACKEND}${PROJECT}` })).toEqual([
      expect.stringContaining('lacks hatchling (build), and'),
    ]);
    expect(
      await messagesOf({ 'pyproject.toml': `${BACKEND.replaceAll('hatchling', 'setuptools')}${PROJECT}` }),
    ).toEqual([]);
    expect(await messagesOf({ 'pyproject.toml': BACKEND })).toEqual([]);
  });

  it('says that it is not known for another image, and nothing without requirements', async () => {
    const unknown = { imagePackages: undefined };
    expect(await messagesOf(setupOf('numpy', 'scipy'), unknown)).toEqual([
      expect.stringContaining(
        'It is not known whether the machine image has numpy, scipy, and VMs reach no package index',
      ),
    ]);
    expect(await messagesOf({}, unknown)).toEqual([]);
  });

  it.each([true, null, undefined])(
    'is not reported if VMs reach the internet, or that is unknown: %s',
    async (given) => {
      expect(await messagesOf(setupOf('transformers'), { reachesInternet: given })).toEqual([]);
    },
  );
});

it.each(RUNTIMES.runtimes)(
  'the packages of the image of $name are known by its name, with all that they require',
  async (runtime) => {
    const { image, machineImages } = imageNamesOf(runtime, 'v20261121');
    for (const name of [image, `projects/p/global/images/${image}`, ...machineImages]) {
      expect(packagesOfImage(name)).toEqual(runtime.packages);
    }
    expect(packagesOfImage('my-image')).toBeNull();
    expect(await messagesOf(setupOf('transformers'), { imagePackages: runtime.packages })).toEqual([
      expect.stringContaining('The machine image lacks transformers'),
    ]);
  },
);

it('intake reports it for the runtime of the job, in the network of the job', async () => {
  const { spec } = queuedJob();
  const report = await reportOf(setupOf('transformers'));
  const codesIn = async (internetAccess: InternetAccess | undefined, network: string | null = null) => {
    const runtimeOf = (version: string) => ({ ...found(version), packages: IMAGE });
    const placed = { ...spec, runtimeVersion: '2.11', network };
    const job = { spec: placed, packages: inspectedPackagesOf(spec, report) };
    const { warnings } = await runCheck(checkPrograms, job, { intake: { runtimeOf, internetAccess } });
    return warnings.map(({ code }) => code);
  };
  const found = (version: string) => exampleIntake.runtimeOf(version) ?? expect.unreachable();
  const none = { regions: [], networks: {}, remoteRepositories: {} };
  expect(await codesIn(none)).toEqual(['NOT_IN_IMAGE']);
  expect(await codesIn({ ...none, regions: [spec.region] })).toEqual([]);
  expect(await codesIn(none, 'projects/p/global/networks/other')).toEqual([]);
  expect(await codesIn(undefined)).toEqual([]);
});
