import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';
import type { JobIn } from '#shared/domain/job.ts';
import type { Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { METADATA_BYTES_MAX, METADATA_VALUE_BYTES_MAX } from '#shared/ports/vm-provider.ts';
import { METADATA_KEYS } from '#shared/protocol/vm-config.ts';
import { checkVmConfig } from '#shared/use-cases/intake/checks/vm-config.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import { simulatedSettings } from '../../simulation/simulated-job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { STUDY } from '../../support/domain/example-tuning.ts';
import { inspectedPackage } from '../../support/package/inspected-package.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const KIB = 1 << 10;
const LIMITS = "262144 bytes (256 KiB) in one value of a VM's metadata, and 524288 bytes (512 KiB) in all";

let cloud: ApiUnderTest;
beforeEach(async () => {
  cloud = await openApiUnderTest();
});
afterEach(() => cloud.close());

/** A job file of Vertex AI with so many bytes of arguments in the container of each pool. */
function jobFileOf(poolBytes: readonly number[], character = 'x'): string {
  const workerPoolSpecs = poolBytes.map((bytes, pool) => ({
    machineSpec: { machineType: 'n1-standard-4' },
    replicaCount: 1,
    containerSpec: { imageUri: 'ghcr.io/o/digits:1', args: [String(pool), character.repeat(bytes)] },
  }));
  return JSON.stringify({
    displayName: 'digits',
    jobSpec: { workerPoolSpecs, baseOutputDirectory: { outputUriPrefix: 'gs://jobs/digits' } },
  });
}

type Outcome = { readonly verdict: string; readonly problems?: readonly Record<string, string>[] };

const WAYS: readonly (readonly [string, (text: string) => Promise<Outcome>])[] = [
  [
    'an upload',
    async (text) => {
      const info = await cloud.objects.write({ bucket: 'uploads', name: 'job.json' }, Buffer.from(text));
      return (await handleUpload(cloud.ports, Object(info), 1_000)).at(-1) as Outcome;
    },
  ],
  [
    'a message',
    async (text) =>
      (await handleSubmitMessage(cloud.ports, { messageId: 'm1', data: Buffer.from(text) }, 1_000)) as Outcome,
  ],
  [
    'a request to the API',
    async (text) => {
      const { status, body } = await cloud.post('/v1/jobs', { jobFile: text, jobId: 'digits' });
      return { ...body, verdict: status === 200 ? 'ACCEPTED' : 'REFUSED' };
    },
  ],
];

describe.each(WAYS)('a job that comes by %s', (_, submit) => {
  it('may have 100 KiB of arguments, which the configuration of its VM has once', async () => {
    expect(await submit(jobFileOf([100 * KIB]))).toMatchObject({ verdict: 'ACCEPTED' });
  });

  it('is rejected, with the longest part and the limits, if Compute Engine would reject its VMs', async () => {
    const outcome = await submit(jobFileOf([100 * KIB, 100 * KIB, 100 * KIB]));
    expect(outcome).toMatchObject({
      verdict: 'REFUSED',
      problems: [{ code: 'CONFIGURATION_TOO_LONG', remedy: expect.stringContaining('into a file in a bucket') }],
    });
    const [{ message = '' } = {}] = outcome.problems ?? [];
    expect(message).toMatch(
      /^The configuration of a VM of this job can have 3\d{5} bytes, 307\d{3} of them in its arguments\./,
    );
    expect(message).toContain(LIMITS);
  });

  it('is measured as JSON, in which quotation marks take two bytes', async () => {
    const outcome = await submit(jobFileOf([70 * KIB, 70 * KIB], '"'));
    expect(outcome).toMatchObject({ verdict: 'REFUSED', problems: [{ code: 'CONFIGURATION_TOO_LONG' }] });
  });
});

describe('a job whose TF_CONFIG or CLUSTER_SPEC Linux would not accept', () => {
  const training = { region: 'us-central1', masterConfig: { imageUri: 'ghcr.io/o/digits:1' }, scaleTier: 'BASIC' };
  const aiPlatform = { jobId: 'digits', trainingInput: { ...training, args: ['é'.repeat(30 * KIB)] } };

  it.each([
    ['TF_CONFIG', JSON.stringify(aiPlatform)],
    ['CLUSTER_SPEC', jobFileOf([30 * KIB], 'é')],
    ['TF_CONFIG', jobFileOf([70 * KIB, 60 * KIB])],
  ])('is rejected with the variable %s', async (variable, text) => {
    const { body } = await cloud.post('/v1/jobs', { jobFile: text, jobId: 'digits' });
    const [problem] = body.problems;
    expect(problem).toMatchObject({ code: 'CONFIGURATION_TOO_LONG' });
    expect(problem.message).toMatch(
      new RegExp(`^The environment variable ${variable}, .* can have 1[3-9]\\d{4} bytes; Linux accepts 131072 bytes`),
    );
  });
});

/** A placed job in its 1,000th attempt with a variable of so many characters, of which each takes two bytes. */
function jobWith(characters: number): JobIn<'PREPARING'> {
  const job = queuedJob();
  const program = { ...job.spec.program, environment: { A: '"'.repeat(characters) } };
  const placed = jobAfter({ ...job, attempt: 1_000, spec: { ...job.spec, program } }, ['PLACEMENT_CHOSEN', 1_000]);
  return placed as JobIn<'PREPARING'>;
}

async function problemOf({ spec, packages }: JobIn<'PREPARING'>, study: Study | null = null) {
  const inspected = packages.map((one) => inspectedPackage(one));
  const { problems } = await runCheck(checkVmConfig, { spec: { ...spec, study }, packages: inspected });
  return problems[0] ?? null;
}

describe('the measured configuration', () => {
  it('is at least as long as the one that is provisioned', async () => {
    let longest = 132_000;
    while ((await problemOf(jobWith(longest))) !== null) {
      longest -= 256;
    }
    const request = vmRequestOf(
      jobWith(longest),
      { role: 'master', index: 0 },
      { settings: simulatedSettings, timeouts: TIMEOUTS },
    );
    const bytes = Buffer.byteLength(request.metadata[METADATA_KEYS.config] ?? '');
    expect(bytes).toBeLessThanOrEqual(METADATA_VALUE_BYTES_MAX);
    expect(bytes).toBeGreaterThan(METADATA_VALUE_BYTES_MAX - 8 * KIB);
  });

  it('leaves room for the other values, within the limit on all', async () => {
    const scripts = (await readStartupScript()) + (await readShutdownScript());
    const others = Buffer.byteLength(scripts) + JSON.stringify(simulatedSettings.agent).length + KIB;
    expect(METADATA_VALUE_BYTES_MAX + others).toBeLessThan(METADATA_BYTES_MAX);
  });

  it('is that of the trial with the longest values', async () => {
    const job = jobWith(120 * KIB);
    const values = ['short', '"'.repeat(10 * KIB)];
    const space = { kind: 'CATEGORICAL', values } as const;
    const leaf = { id: 'leaf', space, scale: 'NONE', children: [] } as const;
    const parameters = [{ ...leaf, id: 'root', children: [{ parentValues: ['short'], parameter: leaf }] }];
    expect(await problemOf(job, STUDY)).toBeNull();
    expect(await problemOf(job, { ...STUDY, parameters })).toMatchObject({
      code: 'CONFIGURATION_TOO_LONG',
    });
  });
});

describe('the longest part', () => {
  const withProgram = (job: JobIn<'PREPARING'>, program: object) => ({
    ...job,
    spec: { ...job.spec, program: { ...job.spec.program, ...program } },
  });

  it('can be the environment variables', async () => {
    expect(await problemOf(jobWith(140 * KIB))).toMatchObject({
      message: expect.stringMatching(/\d+ of them in its environment variables\./),
    });
  });

  it('can be the packages', async () => {
    const packages = Array.from({ length: 100 }, (_, index) => ({
      uri: `gs://jobs/${'p'.repeat(1_000)}${index}.tar.gz`,
      generation: '1763700000000001',
      crc32c: 'yZRlqg==',
      sizeBytes: 61_234,
    }));
    const job = withProgram(jobWith(30 * KIB), { packageUris: packages.map(({ uri }) => uri) });
    expect(await problemOf({ ...job, packages })).toMatchObject({
      message: expect.stringContaining('of them in its packages.'),
      remedy: 'Use fewer packages, or shorter names.',
    });
  });

  it('can be the requirements that a script or pyproject.toml lists', async () => {
    const requirements = Array.from({ length: 4_000 }, (_, index) => `package-with-a-long-name-${index}==1.2.3; a<b`);
    const layout = { style: 'SOURCES', root: '', importRoots: [''], program: null, workingDirectory: '' } as const;
    const layouts = [{ module: 'trainer.task', layout: { ...layout, requirementFiles: [], requirements } }];
    const uri = 'gs://jobs/train.py';
    const job = withProgram(jobWith(60 * KIB), { packageUris: [uri], module: 'trainer.task' });
    expect(
      await problemOf({ ...job, packages: [{ uri, generation: '1', crc32c: 'x', sizeBytes: 1, layouts }] }),
    ).toMatchObject({
      message: expect.stringContaining('of them in the requirements of its programs.'),
      remedy: expect.stringContaining('requirements.txt'),
    });
  });

  it('can be the addresses of the VMs', async () => {
    const job = jobWith(20 * KIB);
    const [master] = job.spec.replicaGroups;
    const replicaGroups = [master, { ...master, role: 'worker', count: 3_000 }] as const;
    expect(await problemOf({ ...job, spec: { ...job.spec, service: 'VERTEX_AI', replicaGroups } })).toMatchObject({
      message: expect.stringContaining('of them in the addresses of its VMs.'),
    });
  });
});
