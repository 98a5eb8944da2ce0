import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ImageRegistry, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import { handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { TRAINER, tarGzOf } from '../../support/package/build-archives.ts';

const JOB = 'image: ghcr.io/o/digits:1\nmachine: n1-standard-4\n';
const WITH_PACKAGE = `name: digits\nmodule: trainer.task\npackages: [code.tar.gz]\n${JOB}`;

const DOWN: ImageRegistry = {
  resolve: () => Promise.reject(new RegistryUnavailableError('ghcr.io', 'did not answer within 15 s')),
};

const REFUSED = {
  verdict: 'REFUSED',
  problems: [
    {
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('ghcr.io did not answer within 15 s'),
      remedy: expect.stringContaining('Submit the job again when the registry answers'),
    },
  ],
};

let cloud: ApiUnderTest;
let down: SubmitPorts;
beforeEach(async () => {
  cloud = await openApiUnderTest();
  down = { ...cloud.ports, registry: DOWN };
});
afterEach(() => cloud.close());

async function write(name: string, text: string | Uint8Array) {
  const info = await cloud.objects.write({ bucket: 'uploads', name }, Buffer.from(text));
  if (typeof info === 'string') {
    throw new Error(info);
  }
  return info;
}

async function deliver(ports: SubmitPorts, upload: Awaited<ReturnType<typeof write>>): Promise<unknown> {
  return (await handleUpload(ports, upload, 1_000)).at(-1);
}

/** The last delivery of the message about an upload has failed. */
function giveUp({ bucket, name, generation }: { bucket: string; name: string; generation: string }): Promise<void> {
  const data = Buffer.from(JSON.stringify({ bucket, name, generation }));
  return handleDeadLetter(cloud.ports, { topic: 'uploads', messageId: 'm1', tries: '5', data }, 2_000);
}

/** The same for a message of the submit topic: its dead letter has an id of its own. */
function giveUpMessage(text: string): Promise<void> {
  return handleDeadLetter(
    cloud.ports,
    { topic: 'submit', messageId: 'd7', tries: '5', data: Buffer.from(text) },
    2_000,
  );
}

async function reportOf(name: string): Promise<unknown> {
  const stream = await cloud.objects.read({ bucket: 'uploads', name });
  return stream && JSON.parse(Buffer.concat(await stream.toArray()).toString());
}

const publishedSince = (before: number) => cloud.published.slice(before);

describe('when no further delivery comes', () => {
  it('an upload whose registry stays down is refused once, with what to do', async () => {
    const upload = await write('job.yaml', `name: digits\n${JOB}`);
    await expect(deliver(down, upload)).rejects.toThrow('redelivered');
    await giveUp({ ...upload, generation: '1' });
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ verdict: 'WAITING' });
    const before = cloud.published.length;
    await giveUp(upload);
    expect(publishedSince(before)).toEqual(['job-updates']);
    const { generation } = upload;
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ ...REFUSED, jobId: 'digits', generation });
  });

  it('a job file whose registry stayed down when its package arrived is refused, and the package is not', async () => {
    await deliver(down, await write('job.yaml', WITH_PACKAGE));
    const code = await write('code.tar.gz', tarGzOf(TRAINER));
    await expect(deliver(down, code)).rejects.toThrow('redelivered');
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ verdict: 'WAITING' });
    const before = cloud.published.length;
    await giveUp(code);
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ ...REFUSED, jobId: 'digits' });
    expect(await reportOf('code.tar.gz.report.json')).toBeUndefined();
    expect(publishedSince(before)).toEqual(['job-updates']);
    // A process that died after it wrote the report has announced nothing.
    await giveUp(code);
    expect(publishedSince(before)).toEqual(['job-updates', 'job-updates']);
    expect(await deliver(cloud.ports, code)).toEqual({ verdict: 'ACCEPTED', jobId: 'digits' });
  });

  it('a job file that still lacks another package keeps waiting for it', async () => {
    await deliver(down, await write('job.yaml', WITH_PACKAGE.replace(']', ', b.tar.gz]')));
    const waiting = await reportOf('job.yaml.report.json');
    await giveUp(await write('code.tar.gz', tarGzOf(TRAINER)));
    expect(waiting).toMatchObject({ verdict: 'WAITING' });
    expect(await reportOf('job.yaml.report.json')).toEqual(waiting);
    expect(await reportOf('code.tar.gz.report.json')).toMatchObject({
      ...{ verdict: 'REFUSED', problems: [{ code: 'INTERNAL_ERROR' }] },
    });
  });

  it('a job file that was replaced meanwhile, or was not handled yet, is left to its own message', async () => {
    await deliver(down, await write('job.yaml', WITH_PACKAGE));
    const code = await write('code.tar.gz', tarGzOf(TRAINER));
    await expect(deliver(down, code)).rejects.toThrow('redelivered');
    const waiting = await reportOf('job.yaml.report.json');
    await write('job.yaml', WITH_PACKAGE);
    await write('late.yaml', WITH_PACKAGE);
    await giveUp(code);
    expect(await reportOf('job.yaml.report.json')).toEqual(waiting);
    expect(await reportOf('late.yaml.report.json')).toBeUndefined();
  });

  it('an upload that replaced a refused one is refused by itself', async () => {
    await deliver(cloud.ports, await write('job.yaml', 'name: digits\nmachine: unknown\n'));
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ verdict: 'REFUSED' });
    const upload = await write('job.yaml', `name: digits\n${JOB}`);
    await giveUp(upload);
    expect(await reportOf('job.yaml.report.json')).toMatchObject({
      ...{ verdict: 'REFUSED', generation: upload.generation, problems: [{ code: 'INTERNAL_ERROR' }] },
    });
  });

  it('a job that was accepted meanwhile keeps its report', async () => {
    const upload = await write('job.yaml', `name: digits\n${JOB}`);
    await expect(deliver(down, upload)).rejects.toThrow('redelivered');
    await deliver(cloud.ports, upload);
    await write('job.yaml.report.json', JSON.stringify({ ...ACCEPTED, generation: upload.generation }));
    await giveUp(upload);
    expect(await reportOf('job.yaml.report.json')).toMatchObject({ verdict: 'ACCEPTED' });
  });

  it('messages whose registry stays down are refused in their own reports, and others wait', async () => {
    const text = `name: digits\n${JOB}`;
    const submit = (messageId: string, data: string) =>
      handleSubmitMessage(down, { messageId, data: Buffer.from(data) }, 1_000);
    await expect(submit('m1', text)).rejects.toThrow('redelivered');
    await expect(submit('m1', text)).rejects.toThrow('redelivered');
    await expect(submit('m2', `${text}workers: 2\n`)).rejects.toThrow('redelivered');
    expect(await reportOf('submitted/m1.report.json')).toMatchObject({ verdict: 'WAITING' });
    const before = cloud.published.length;
    await giveUpMessage(text);
    expect(publishedSince(before)).toEqual(['job-updates']);
    expect(await reportOf('submitted/m1.report.json')).toMatchObject({ ...REFUSED, jobId: 'digits' });
    expect(await reportOf('submitted/m2.report.json')).toMatchObject({ verdict: 'WAITING' });
  });

  it('a message on which intake failed gets a report, and one that was never delivered changes nothing', async () => {
    const text = `name: digits\n${JOB}`;
    const create = () => Promise.reject(new Error('The store failed.'));
    const broken = { ...cloud.ports, jobs: { ...cloud.ports.jobs, create } };
    const message = { messageId: 'm1', data: Buffer.from(text) };
    await expect(handleSubmitMessage(broken, message, 1_000)).rejects.toThrow('The store failed.');
    expect(await reportOf('submitted/m1.report.json')).toBeUndefined();
    await giveUpMessage(`${text}# other\n`);
    expect(cloud.published).toEqual([]);
    await giveUpMessage(text);
    expect(await reportOf('submitted/m1.report.json')).toMatchObject({
      ...{ verdict: 'REFUSED', source: 'pubsub://submit/m1' },
      problems: [{ code: 'INTERNAL_ERROR', remedy: expect.stringContaining('Publish it again') }],
    });
  });

  it('what intake records of a failed delivery is not a submission', async () => {
    const message = { messageId: 'm1', data: Buffer.from(`name: digits\n${JOB}`) };
    await expect(handleSubmitMessage(down, message, 1_000)).rejects.toThrow('redelivered');
    const objects = await cloud.objects.list({ bucket: 'uploads', prefix: 'submitted/', countMax: 10 });
    expect(objects).toHaveLength(2);
    for (const object of objects) {
      expect(await handleUpload(cloud.ports, object, 2_000)).toEqual([]);
    }
  });
});

const ACCEPTED = {
  verdict: 'ACCEPTED',
  source: 'gs://uploads/job.yaml',
  jobId: 'digits',
  problems: [],
  warnings: [],
  job: null,
};
