import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { type ImageRegistry, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { reportJob } from '#shared/use-cases/reports/report-job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleRegistry } from '../../support/api/example-registry.ts';

const PINNED = `ghcr.io/o/digits@sha256:${'a'.repeat(64)}`;

const jobFileOf = (name: string, more = '') =>
  `name: ${name}\nimage: ghcr.io/o/digits:1\nmachine: n1-standard-4\noutput: gs://jobs/${name}\n${more}`;

let cloud: ApiUnderTest;
beforeEach(async () => {
  cloud = await openApiUnderTest();
});
afterEach(() => cloud.close());

const DOWN: ImageRegistry = {
  resolve: () => Promise.reject(new RegistryUnavailableError('ghcr.io', 'did not answer within 15 s')),
};

const portsWith = (registry: ImageRegistry): SubmitPorts => ({ ...cloud.ports, registry });

async function upload(ports: SubmitPorts, name: string, text: string) {
  const info = await cloud.objects.write({ bucket: 'uploads', name }, Buffer.from(text));
  if (typeof info === 'string') {
    throw new Error(info);
  }
  return async () => (await handleUpload(ports, info, 1_000)).at(-1);
}

async function specOf(jobId: string): Promise<JobSpec | undefined> {
  return (await cloud.ports.jobs.read(jobId))?.record.spec;
}

async function reportOf(name: string): Promise<unknown> {
  const stream = await cloud.objects.read({ bucket: 'uploads', name });
  return stream && JSON.parse(Buffer.concat(await stream.toArray()).toString());
}

const WAYS: readonly (readonly [string, (text: string) => Promise<unknown>])[] = [
  ['an upload', async (text) => (await upload(cloud.ports, 'job.yaml', text))()],
  ['a message', (text) => handleSubmitMessage(cloud.ports, { messageId: 'm1', data: Buffer.from(text) }, 1_000)],
  ['a request to the API', (text) => cloud.post('/v1/jobs', { jobFile: text, jobId: 'digits' })],
];

describe('a container', () => {
  it.each(WAYS)('that comes by %s runs the image that its registry had then', async (_, submit) => {
    await submit(jobFileOf('digits'));
    expect((await specOf('digits'))?.program).toMatchObject({ imageUri: 'ghcr.io/o/digits:1', image: { uri: PINNED } });
  });

  it('is refused, before there is a job, if its VMs do not reach the registry', async () => {
    const internetAccess = { regions: [], networks: {}, remoteRepositories: {} };
    const ports = { ...cloud.ports, intake: { ...cloud.ports.intake, internetAccess } };
    await (await upload(ports, 'job.yaml', jobFileOf('digits')))();
    expect(await reportOf('job.yaml.report.json')).toMatchObject({
      verdict: 'REFUSED',
      problems: [{ code: 'IMAGE_HOST_UNREACHABLE', path: 'image', line: expect.any(Number) }],
    });
    expect(await specOf('digits')).toBeUndefined();
  });

  it('is shown with digest, size and platform in the job that runs it', async () => {
    const { body } = await cloud.post('/v1/jobs', { jobFile: jobFileOf('digits', 'workers: 2\n'), jobId: 'digits' });
    const found = { requested: 'ghcr.io/o/digits:1', digest: `sha256:${'a'.repeat(64)}` };
    const image = { ...found, sizeBytes: 50_000_000, platform: 'linux/amd64' };
    const images = [
      { role: 'master', ...image },
      { role: 'worker', ...image },
    ];
    expect(body.images).toEqual(images);
    await reportJob(cloud.ports, body.jobId, 2_000);
    expect(await reportOf('submitted/digits.report.json')).toMatchObject({ job: { images } });
  });

  it('keeps its image when its tag moves and the upload is delivered again', async () => {
    let architecture: 'amd64' | 'arm64' = 'amd64';
    const { resolve } = exampleRegistry();
    const moving: ImageRegistry = { resolve: ({ reference }) => resolve({ reference, architecture }) };
    const deliver = await upload(portsWith(moving), 'job.yaml', jobFileOf('digits'));
    await deliver();
    architecture = 'arm64';
    expect(await deliver()).toEqual({ verdict: 'ACCEPTED', jobId: 'digits' });
    expect((await specOf('digits'))?.program).toMatchObject({ image: { uri: PINNED } });
  });

  it('whose registry is down is answered with 503 by the API, and accepted when the request is repeated', async () => {
    let registry = DOWN;
    const api = await openApiUnderTest({ registry: { resolve: (request) => registry.resolve(request) } });
    const submit = () => api.post('/v1/jobs', { jobFile: jobFileOf('digits'), jobId: 'digits' });
    const { status, body } = await submit();
    expect([status, body.error.code, body.problems[0].code]).toEqual([503, 503, 'REGISTRY_UNAVAILABLE']);
    expect(body.error.message).toContain('ghcr.io did not answer within 15 s');
    registry = exampleRegistry();
    expect((await submit()).status).toBe(200);
    await api.close();
  });

  it('whose registry is unavailable is reported as waiting, and starts with a later delivery', async () => {
    let isDown = true;
    const flaky: ImageRegistry = {
      resolve: (request) => (isDown ? DOWN : exampleRegistry()).resolve(request),
    };
    const deliver = await upload(portsWith(flaky), 'job.yaml', jobFileOf('digits'));
    await expect(deliver()).rejects.toThrow('redelivered');
    expect(await specOf('digits')).toBeUndefined();
    const waiting = { verdict: 'WAITING', problems: [{ code: 'REGISTRY_UNAVAILABLE', path: 'image', line: 2 }] };
    expect(await reportOf('job.yaml.report.json')).toMatchObject(waiting);
    const message = { messageId: 'm1', data: Buffer.from(jobFileOf('other')) };
    await expect(handleSubmitMessage(portsWith(flaky), message, 1_000)).rejects.toThrow('redelivered');
    expect(await reportOf('submitted/m1.report.json')).toMatchObject(waiting);
    isDown = false;
    expect(await deliver()).toEqual({ verdict: 'ACCEPTED', jobId: 'digits' });
  });

  it('gives all trials of a tuning the same image', async () => {
    const tune = 'tune: {metric: loss, trials: 4, parameters: {seed: [1, 2]}}\n';
    await handleSubmitMessage(cloud.ports, { messageId: 'm1', data: Buffer.from(jobFileOf('search', tune)) }, 1_000);
    const tuning = (await cloud.ports.tunings.read('search'))?.record;
    expect(tuning?.spec.program).toMatchObject({ image: { uri: PINNED } });
  });
});
