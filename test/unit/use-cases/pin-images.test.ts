import { describe, expect, it } from 'vitest';
import type { ContainerProgram, JobSpec, PinnedImage, PythonProgram, ReplicaGroup } from '#shared/domain/job-spec.ts';
import {
  type ImageAnswer,
  type ImageRegistry,
  type ImageRejection,
  type ImageRequest,
  RegistryUnavailableError,
} from '#shared/ports/image-registry.ts';
import { checkContainerEngine } from '#shared/use-cases/intake/checks/container-engine.ts';
import { checkImageHosts } from '#shared/use-cases/intake/checks/image-hosts.ts';
import { checkImages, namedImagesOf } from '#shared/use-cases/intake/checks/images.ts';
import type { ContainerSettings, IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { viewImages } from '#shared/views/view-images.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { exampleRegistry } from '../../support/api/example-registry.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { contained, jobOf } from '../../support/job-file/program-drafts.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

function containerOf(imageUri: string, more: Partial<ContainerProgram> = {}): ContainerProgram {
  const program = { kind: 'CONTAINER', image: null, command: [], args: [], environment: {}, packageUris: [] } as const;
  return { ...program, imageUri, module: null, ...more };
}

const { spec: example } = queuedJob();
const [master] = example.replicaGroups;

function specOf(program: JobSpec['program'], ...others: readonly Partial<ReplicaGroup>[]): JobSpec {
  const groups = others.map((other) => ({ ...master, role: 'worker' as const, program: null, ...other }));
  return { ...example, program, replicaGroups: [{ ...master, program: null }, ...groups] };
}

type Given = {
  readonly registry?: ImageRegistry;
  readonly containers?: Partial<ContainerSettings>;
  readonly architectureOf?: IntakeSettings['architectureOf'];
  readonly internetAccess?: IntakeSettings['internetAccess'];
};

const DRAFT = jobOf({ master: contained(undefined, 'image') });

/** Makes the checks of images one after the other, until one has a problem, as `runChecks` does. */
async function pin(
  spec: JobSpec,
  { registry = exampleRegistry(), containers = {}, ...other }: Given = {},
  draft = DRAFT,
) {
  const intake = { ...other, containers: { ...exampleIntake.containers, ...containers } };
  const job = { draft, spec, images: namedImagesOf(spec, draft) };
  const engine = await runCheck(checkContainerEngine, job, { intake });
  const hosts = engine.problems.length > 0 ? engine : await runCheck(checkImageHosts, job, { intake });
  const found = hosts.problems.length > 0 ? hosts : await runCheck(checkImages, job, { registry, intake });
  return { ...found, warnings: hosts.warnings, spec: found.pins.spec ?? spec };
}

function registryWith(answer: Partial<PinnedImage> | ImageRejection | Error): ImageRegistry {
  const found = { uri: `h/r@sha256:${A}`, sizeBytes: 1, entrypoint: ['/run'], cmd: [], user: '', workingDir: '' };
  return {
    async resolve(): Promise<ImageAnswer> {
      if (answer instanceof Error) {
        throw answer;
      }
      return 'reason' in answer
        ? { kind: 'REJECTED', rejection: answer }
        : { kind: 'FOUND', image: { ...found, ...answer } };
    },
  };
}

async function problemWith(answer: Parameters<typeof registryWith>[0], more: Partial<ContainerProgram> = {}) {
  const { problems } = await pin(specOf(containerOf('ghcr.io/o/digits:1.O', more)), { registry: registryWith(answer) });
  return problems[0];
}

describe('the images of a job', () => {
  it('are pinned, once for all groups that run the same', async () => {
    const requests: ImageRequest[] = [];
    const spec = specOf(containerOf('ubuntu'), {});
    const pinned = await pin(spec, { registry: exampleRegistry(requests) });
    expect(requests).toHaveLength(1);
    expect(pinned.spec.program).toMatchObject({ image: { uri: `docker.io/library/ubuntu@sha256:${A}` } });
    expect(pinned.spec.replicaGroups.map(({ program }) => program)).toEqual([null, null]);
    expect(viewImages(pinned.spec).map(({ role, platform }) => `${role} ${platform}`)).toEqual([
      'master linux/amd64',
      'worker linux/amd64',
    ]);
  });

  it('are those of each pool’s own program', async () => {
    const { spec } = await pin(specOf(containerOf('a'), { program: containerOf('b') }));
    expect(spec.program).toMatchObject({ imageUri: 'a', image: { uri: `docker.io/library/a@sha256:${A}` } });
    expect(spec.replicaGroups[1]?.program).toMatchObject({
      imageUri: 'b',
      image: { uri: `docker.io/library/b@sha256:${A}` },
    });
  });

  it('are for the processors of each group, which then has a program of its own', async () => {
    const architectureOf = (machineType: string) => (machineType.startsWith('c4a') ? 'arm64' : 'amd64');
    const spec = specOf(containerOf('a'), { machineType: 'c4a-standard-4' });
    const pinned = await pin(spec, { architectureOf });
    expect(pinned.spec.program).toMatchObject({ image: { uri: `docker.io/library/a@sha256:${A}` } });
    expect(pinned.spec.replicaGroups[1]?.program).toMatchObject({ image: { uri: `docker.io/library/a@sha256:${B}` } });
  });

  it('may be those of workers alone, beside a Python program', async () => {
    const python: PythonProgram = { kind: 'PYTHON', packageUris: [], module: 'a', args: [], environment: {} };
    const { spec } = await pin(specOf(python, { program: containerOf('b') }));
    expect(spec.program).toBe(python);
    expect(spec.replicaGroups[1]?.program).toMatchObject({ image: { uri: `docker.io/library/b@sha256:${A}` } });
  });

  it('are not looked up where no container engine answers, which is a problem of the job', async () => {
    const requests: ImageRequest[] = [];
    const containers = { hasEngine: async () => false };
    const { problems } = await pin(specOf(containerOf('a')), { registry: exampleRegistry(requests), containers });
    expect(problems).toMatchObject([{ code: 'CONTAINER_ENGINE_MISSING', path: 'image' }]);
    expect(requests).toEqual([]);
  });

  it('need no container engine if there are none', async () => {
    const python: PythonProgram = { kind: 'PYTHON', packageUris: [], module: 'a', args: [], environment: {} };
    const containers = { hasEngine: () => Promise.reject(new Error('asked')) };
    expect((await pin(specOf(python), { containers })).problems).toEqual([]);
  });

  it('whose registry does not answer are no problem of the job', async () => {
    const unavailable = new RegistryUnavailableError('ghcr.io', 'did not answer within 15 s');
    const pinned = await pin(specOf(containerOf('ghcr.io/o/a')), { registry: registryWith(unavailable) });
    expect(pinned.problems).toEqual([]);
    expect(pinned.unavailable).toMatchObject([
      { code: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('ghcr.io did not answer within 15 s') },
    ]);
  });

  it('whose check fails otherwise fail the check', async () => {
    await expect(pin(specOf(containerOf('a')), { registry: registryWith(new Error('defect')) })).rejects.toThrow(
      'defect',
    );
  });
});

describe('an image that cannot run', () => {
  it('has no tag of this name: the nearest is named', async () => {
    expect(await problemWith({ reason: 'NOT_FOUND', tags: ['0.9', '1.0', 'nightly'] })).toEqual({
      code: 'IMAGE_NOT_FOUND',
      message: 'The image ghcr.io/o/digits:1.O does not exist: the repository o/digits has no tag 1.O.',
      remedy: 'Did you mean 1.0? It has 0.9, 1.0, nightly. Or push the image with this tag.',
      path: 'image',
    });
  });

  it.each([
    [8, /It has t0, t1, t2, t3, t4, t5, t6, t7\. Or/],
    [10, /It has t0, t1, t2, t3, t4, t5, t6, t7 and 2 more\. Or/],
  ])('has no tag of this name: eight of %i are listed', async (count, remedy) => {
    const tags = Array.from({ length: count }, (_, index) => `t${index}`);
    expect((await problemWith({ reason: 'NOT_FOUND', tags }))?.remedy).toMatch(remedy);
  });

  it('is that of workers: the place of their image is named', async () => {
    const programs = {
      master: contained(undefined, 'image'),
      worker: contained('ghcr.io/o/reader:1', 'workers.image'),
    };
    const spec = specOf(containerOf('ghcr.io/o/digits:1'), { program: containerOf('ghcr.io/o/reader:1') });
    const registry: ImageRegistry = {
      resolve: async (request) =>
        request.reference.repository === 'o/reader'
          ? { kind: 'REJECTED', rejection: { reason: 'NOT_FOUND', tags: [] } }
          : exampleRegistry().resolve(request),
    };
    const { problems } = await pin(spec, { registry }, jobOf(programs));
    expect(problems).toMatchObject([{ code: 'IMAGE_NOT_FOUND', path: 'workers.image' }]);
  });

  it.each<[string, ImageRejection, string, RegExp]>([
    ['is in no repository', { reason: 'NOT_FOUND', tags: [] }, 'IMAGE_NOT_FOUND', /no repository o\/digits/],
    ['needs a login', { reason: 'ACCESS_DENIED', identity: null }, 'IMAGE_ACCESS_DENIED', /anonymous/],
    [
      'is not given to an account',
      { reason: 'ACCESS_DENIED', identity: 'the secret s' },
      'IMAGE_ACCESS_DENIED',
      /secret s/,
    ],
    [
      'is for others',
      { reason: 'PLATFORM', platforms: ['linux/arm64'] },
      'IMAGE_PLATFORM',
      /is for linux\/arm64; the master/,
    ],
    [
      'is an artifact',
      { reason: 'FORMAT', detail: 'has encrypted layers' },
      'IMAGE_UNSUPPORTED',
      /has encrypted layers\./,
    ],
    [
      'has no registry',
      { reason: 'REGISTRY', detail: 'does not exist' },
      'REGISTRY_REJECTED',
      /ghcr\.io does not exist\./,
    ],
  ])('%s', async (...[, rejection, code, message]) => {
    expect(await problemWith(rejection)).toMatchObject({
      code,
      message: expect.stringMatching(message),
      path: 'image',
    });
  });

  it('has neither entry point nor command, unless the job sets one', async () => {
    const empty = { entrypoint: [], cmd: [] };
    expect(await problemWith(empty)).toMatchObject({ code: 'IMAGE_WITHOUT_COMMAND' });
    expect(await problemWith(empty, { command: ['sh'] })).toBeUndefined();
    expect(await problemWith(empty, { module: 'a.b' })).toBeUndefined();
  });

  it('is larger than the disk', async () => {
    expect(master.bootDiskGib).toBe(100);
    const remedy = expect.stringContaining('Request a boot disk of 173 GiB');
    expect(await problemWith({ sizeBytes: 51 * 2 ** 30 })).toMatchObject({ code: 'IMAGE_TOO_LARGE', remedy });
    expect(await problemWith({ sizeBytes: 50 * 2 ** 30 })).toBeUndefined();
  });

  it.each([
    ['', true],
    ['root', true],
    ['0', true],
    ['0:1000', true],
    ['root:staff', true],
    ['00', true],
    // Engines read a sign, and find the number of a name in the image: it can be 0.
    ['+0', true],
    ['-0', true],
    ['trainer', true],
    ['trainer:1000', true],
    ['1000', false],
    ['1000:0', false],
    ['1000:trainer', false],
  ])('runs, or may run, as root with the user "%s" where that is forbidden: %s', async (user, isRoot) => {
    const registry = registryWith({ user });
    const { problems } = await pin(specOf(containerOf('a')), { registry, containers: { allowsRoot: false } });
    expect(problems.map(({ code }) => code)).toEqual(isRoot ? ['IMAGE_RUNS_AS_ROOT'] : []);
    expect((await pin(specOf(containerOf('a')), { registry })).problems).toEqual([]);
  });
});

describe('images of registries outside of Google', () => {
  const NONE = { regions: [], networks: {}, remoteRepositories: {} };
  const OTHER = 'projects/p/global/networks/other';

  async function verdictOf(imageUri: string, internetAccess: IntakeSettings['internetAccess'], more = {}) {
    const requests: ImageRequest[] = [];
    const registry = exampleRegistry(requests);
    const spec = { ...specOf(containerOf(imageUri)), region: 'us-central1', ...more };
    const { problems, warnings } = await pin(spec, { registry, internetAccess });
    const codes = [...problems, ...warnings].map(({ code }) => code);
    return [problems.length > 0 ? 'refused' : 'accepted', ...codes, `${requests.length} lookups`].join(', ');
  }

  it.each([
    ['python:3.12', NONE, {}, 'refused, IMAGE_HOST_UNREACHABLE, 0 lookups'],
    ['us-docker.pkg.dev/p/r/python:3.12', NONE, {}, 'accepted, 1 lookups'],
    ['gcr.io/p/python', NONE, {}, 'accepted, 1 lookups'],
    ['python:3.12', { ...NONE, regions: ['us-central1'] }, {}, 'accepted, 1 lookups'],
    ['python:3.12', { ...NONE, regions: ['us-east1'] }, {}, 'refused, IMAGE_HOST_UNREACHABLE, 0 lookups'],
    ['python:3.12', { ...NONE, regions: undefined }, {}, 'accepted, IMAGE_HOST_NOT_CHECKED, 1 lookups'],
    ['python:3.12', NONE, { network: OTHER }, 'accepted, IMAGE_HOST_NOT_CHECKED, 1 lookups'],
    ['python:3.12', { ...NONE, networks: { [OTHER]: ['us-central1'] } }, { network: OTHER }, 'accepted, 1 lookups'],
    [
      'python:3.12',
      { ...NONE, regions: ['us-central1'], networks: { [OTHER]: [] } },
      { network: OTHER },
      'refused, IMAGE_HOST_UNREACHABLE, 0 lookups',
    ],
    ['python:3.12', NONE, { networkAttachment: 'a' }, 'accepted, IMAGE_HOST_NOT_CHECKED, 1 lookups'],
    ['python:3.12', undefined, {}, 'accepted, 1 lookups'],
  ])('are refused only if VMs certainly do not reach them: %s %j %j', async (imageUri, access, ...[more, expected]) => {
    expect(await verdictOf(imageUri, access, more)).toBe(expected);
  });

  it('are refused with the field, the address in the deployment’s own repository if it has one, and NAT', async () => {
    const remoteRepositories = { 'docker.io': 'us-central1-docker.pkg.dev/p/docker-hub' };
    const spec = specOf(containerOf('python:3.12'), { program: containerOf(`ghcr.io/o/a@sha256:${A}`) });
    const { problems } = await pin(spec, { internetAccess: { ...NONE, remoteRepositories } });
    expect(problems).toMatchObject([
      {
        path: 'image',
        message: expect.stringMatching(/python:3\.12 is on docker\.io, .* us-central1 reach no host outside of Google/),
        remedy: expect.stringMatching(
          /us-central1-docker\.pkg\.dev\/p\/docker-hub\/library\/python:3\.12,.*nat = true/,
        ),
      },
      { path: 'image', remedy: expect.stringMatching(/remote_repositories.*nat = true/) },
    ]);
  });
});
