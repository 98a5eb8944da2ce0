import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventFiles } from '../../../cli/client/event-files.ts';
import { createObjectClient } from '../../../cli/client/object-client.ts';
import { runCli, startTestCloud, type TestCloud, trialOf, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
let folder: string;
beforeEach(async () => {
  cloud = await startTestCloud();
  folder = join(cloud.dataDir, 'events');
  cloud.jobs.set('digits', [viewOf('digits', { jobDir: 'gs://jobs/digits', state: 'SUCCEEDED' })]);
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: cloud.dataDir });

async function put(name: string, content: string, attempt = 1): Promise<void> {
  const metadata = { 'dropforge-attempt': String(attempt) };
  await cloud.store.write({ bucket: 'jobs', name }, Buffer.from(content), { metadata });
}

const clientOf = () => createObjectClient({ storage: cloud.endpoints.storage, projectId: cloud.endpoints.projectId });

describe('dropforge tensorboard --dir', () => {
  it('copies the event files of a job, and nothing else', async () => {
    await put('digits/logs/train/events.out.tfevents.1.vm', 'one');
    await put('digits/model.bin', 'weights');
    await put('digits2/events.out.tfevents.1.vm', 'of another job');
    const { code, stdout } = await cli('tensorboard', 'digits', '--dir', 'events');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('1 event files') });
    expect((await readdir(folder, { recursive: true })).filter((name) => name.includes('tfevents'))).toEqual([
      'digits/logs/train/events.out.tfevents.1.vm',
    ]);
  });

  it('has a run for each attempt', async () => {
    await put('digits/logs/events.out.tfevents.1.vm', 'first');
    await put('digits/logs/events.out.tfevents.2.vm', 'second', 2);
    await cli('tensorboard', 'digits', '--dir', 'events');
    expect((await readdir(folder)).sort()).toEqual(['digits', 'digits.attempt-2']);
  });

  it('has a run for each trial of a tuning', async () => {
    cloud.jobs.set('search', [
      viewOf('search', { jobDir: 'gs://jobs/search', state: 'SUCCEEDED', tuning: tuningOf({}) }),
    ]);
    cloud.trials.push(trialOf('1'), trialOf('2'), trialOf('3'));
    await put('search/1/events.out.tfevents.1.vm', 'first');
    await put('search/3/events.out.tfevents.1.vm', 'third');
    await cli('tensorboard', 'search', '--dir', 'events');
    expect((await readdir(join(folder, 'search'))).sort()).toEqual(['trial-1', 'trial-3']);
  });

  it('exits with 1 if there are none', async () => {
    expect((await cli('tensorboard', 'digits', '--dir', 'events')).code).toBe(1);
  });

  it('rejects a port that is not one', async () => {
    expect(await cli('tensorboard', 'digits', '--port', 'x')).toMatchObject({ code: 2 });
  });
});

describe('event files', () => {
  const name = 'digits/events.out.tfevents.1.vm';
  const job = { jobId: 'digits', jobDir: 'gs://jobs/digits' };

  it('are copied from where the last copy ended', async () => {
    const files = new EventFiles(clientOf(), folder);
    await put(name, 'first');
    expect(await files.sync([job])).toBe(5);
    expect(await files.sync([job])).toBe(0);
    await put(name, 'first and second');
    expect(await files.sync([job])).toBe(11);
    expect(await readFile(join(folder, name), 'utf8')).toBe('first and second');
  });

  it('are completed by a later run of the command, and replaced if they became shorter', async () => {
    await put(name, 'first and second');
    await new EventFiles(clientOf(), folder).sync([job]);
    await writeFile(join(folder, name), 'first');
    expect(await new EventFiles(clientOf(), folder).sync([job])).toBe(11);
    await put(name, 'new');
    await new EventFiles(clientOf(), folder).sync([job]);
    expect(await readFile(join(folder, name), 'utf8')).toBe('new');
  });

  it('are bounded in number and size, with an error that names the limit', async () => {
    await put(name, 'first');
    await put('digits/2/events.out.tfevents.1.vm', 'second');
    const few = new EventFiles(clientOf(), folder, { countMax: 1, bytesMax: 100 });
    await expect(few.sync([job])).rejects.toThrow('more than 1 event files');
    const small = new EventFiles(clientOf(), folder, { countMax: 10, bytesMax: 8 });
    await expect(small.sync([job])).rejects.toThrow('more than 8 bytes of event files');
  });

  it('are never written outside of the folder', async () => {
    await put('digits/../../events.out.tfevents.1.vm', 'hostile');
    await put('digits/a\\b/events.out.tfevents.1.vm', 'hostile');
    expect(await new EventFiles(clientOf(), folder).sync([job])).toBe(0);
  });
});
