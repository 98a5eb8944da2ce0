import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
let work: string;
beforeEach(async () => {
  cloud = await startTestCloud();
  work = join(cloud.dataDir, 'work');
  await mkdir(join(work, 'model', 'deep'), { recursive: true });
  await writeFile(join(work, 'model', 'weights.json'), '[1]');
  await writeFile(join(work, 'model', 'deep', 'notes.txt'), 'deep');
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: work });

async function put(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await cloud.store.write({ bucket: 'jobs', name }, Buffer.from(`content of ${name}`));
  }
}

const listed = async (...argv: string[]) => (await cli('ls', ...argv)).stdout.trim().split('\n');

describe('dropforge ls', () => {
  beforeEach(() => put('a.txt', 'run/model.json', 'run/log.txt', 'run/checkpoints/1.json', 'running.txt'));

  it.each([
    [[], ['gs://jobs/', 'gs://uploads/']],
    [['gs://jobs'], ['gs://jobs/a.txt', 'gs://jobs/running.txt', 'gs://jobs/run/']],
    [['gs://jobs/run'], ['gs://jobs/run/log.txt', 'gs://jobs/run/model.json', 'gs://jobs/run/checkpoints/']],
    [['gs://jobs/run/'], ['gs://jobs/run/log.txt', 'gs://jobs/run/model.json', 'gs://jobs/run/checkpoints/']],
    [['gs://jobs/a.txt'], ['gs://jobs/a.txt']],
    [['gs://jobs/*.txt'], ['gs://jobs/a.txt', 'gs://jobs/running.txt']],
    [['gs://jobs/**.json'], ['gs://jobs/run/checkpoints/1.json', 'gs://jobs/run/model.json']],
    [
      ['-r', 'gs://jobs/run'],
      ['gs://jobs/run/checkpoints/1.json', 'gs://jobs/run/log.txt', 'gs://jobs/run/model.json'],
    ],
  ])('lists %j', async (argv, expected) => {
    expect(await listed(...argv)).toEqual(expected);
  });

  it('prints sizes with -l, and all fields as JSON', async () => {
    expect((await cli('ls', '-l', 'gs://jobs/a.txt')).stdout).toMatch(
      /^BYTES\s+UPDATED\s+URI\n16\s+20\S+Z\s+gs:\/\/jobs\/a\.txt\n$/,
    );
    const [listing] = (await cli('ls', 'gs://jobs/run', '--format=json')).json();
    expect(listing).toMatchObject({
      folders: ['gs://jobs/run/checkpoints/'],
      objects: [{ sizeBytes: 22 }, { sizeBytes: 25 }],
    });
  });

  it.each([
    ['gs://nowhere/x', 'The bucket gs://nowhere does not exist'],
    ['gs://jobs/none', 'No object matches gs://jobs/none'],
  ])('fails for %s', async (uri, message) => {
    const { code, stderr } = await cli('ls', uri);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe('dropforge cp', () => {
  it('uploads and downloads a file byte for byte', async () => {
    await writeFile(
      join(work, 'bytes.bin'),
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    );
    expect((await cli('cp', 'bytes.bin', 'gs://jobs/kept/')).stdout).toContain('gs://jobs/kept/bytes.bin');
    expect((await cli('cp', 'gs://jobs/kept/bytes.bin', 'again.bin')).code).toBe(0);
    expect(await readFile(join(work, 'again.bin'))).toEqual(await readFile(join(work, 'bytes.bin')));
  });

  it('continues a download that breaks off, and leaves no file if it cannot', async () => {
    const breakOff = () => cloud.faulty.inject('media', { kind: 'BROKEN', afterBytes: 4 });
    await put('run/log.txt');
    breakOff();
    expect((await cli('cp', 'gs://jobs/run/log.txt', 'log.txt')).code).toBe(0);
    expect(await readFile(join(work, 'log.txt'), 'utf8')).toBe('content of run/log.txt');
    breakOff();
    cloud.faulty.inject('media', { kind: 'STATUS', status: 403 });
    const { code, stderr } = await cli('cp', 'gs://jobs/run/log.txt', 'again.txt');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Permission denied on gs://jobs/run/log.txt')]);
    expect((await readdir(work)).sort()).toEqual(['log.txt', 'model']);
  });

  it('does not replace what is not a regular file, such as a device', async () => {
    await put('run/log.txt');
    const socket = createServer().listen(join(work, 'socket'));
    await once(socket, 'listening');
    expect(await cli('cp', 'gs://jobs/run/log.txt', 'socket')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('socket is not a regular file'),
    });
    expect((await stat(join(work, 'socket'))).isSocket()).toBe(true);
    socket.close();
  });

  it('follows links to files, and fails for a folder without files', async () => {
    await symlink('weights.json', join(work, 'model', 'latest.json'));
    await symlink('.', join(work, 'model', 'loop'));
    await mkdir(join(work, 'empty'));
    expect((await cli('cp', '-r', 'model', 'gs://jobs/linked')).code).toBe(0);
    expect(await listed('-r', 'gs://jobs/linked')).toEqual([
      'gs://jobs/linked/deep/notes.txt',
      'gs://jobs/linked/latest.json',
      'gs://jobs/linked/weights.json',
    ]);
    expect(await cli('cp', '-r', 'empty', 'gs://jobs/empty')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('contains no files'),
    });
  });

  it.each([
    [['model/weights.json', 'gs://jobs'], ['gs://jobs/weights.json']],
    [['model/weights.json', 'gs://jobs/new-name.json'], ['gs://jobs/new-name.json']],
    [
      ['-r', 'model', 'gs://jobs/'],
      ['gs://jobs/model/deep/notes.txt', 'gs://jobs/model/weights.json'],
    ],
    [
      ['-r', 'model', 'gs://jobs/run-1'],
      ['gs://jobs/run-1/deep/notes.txt', 'gs://jobs/run-1/weights.json'],
    ],
    [
      ['model/weights.json', 'model/deep/notes.txt', 'gs://jobs/both/'],
      ['gs://jobs/both/notes.txt', 'gs://jobs/both/weights.json'],
    ],
  ])('uploads %j', async (argv, expected) => {
    expect(await cli('cp', ...argv)).toMatchObject({ code: 0, stderr: '' });
    expect(await listed('gs://jobs/**')).toEqual(expected);
  });

  describe('into the upload bucket', () => {
    beforeEach(async () => {
      cloud.onObject = async ({ bucket, name, generation }) => {
        const isPackage = name.endsWith('.tar.gz');
        const problem = { code: 'NOT_AN_ARCHIVE', message: 'notes.txt is a text file.', remedy: 'Upload a package.' };
        const outcome = isPackage
          ? { verdict: 'ACCEPTED', jobId: 'digits', problems: [] }
          : { verdict: 'REFUSED', jobId: null, problems: [problem] };
        const report = { ...outcome, source: `gs://${bucket}/${name}`, warnings: [], job: null, generation };
        if (!name.endsWith('.report.json')) {
          await cloud.store.write({ bucket, name: `${name}.report.json` }, Buffer.from(JSON.stringify(report)));
        }
      };
      await writeFile(join(work, 'digits.tar.gz'), 'package');
    });

    it('prints the job, the report, and how to follow the job, also if the object replaces another', async () => {
      for (const generation of [1, 2]) {
        const { code, stdout } = await cli('cp', 'digits.tar.gz', 'gs://uploads/');
        expect([generation, code]).toEqual([generation, 0]);
        expect(stdout).toMatch(
          /Copied .*\nJob digits ACCEPTED\n +follow .*dropforge.* jobs stream-logs digits\n[\s\S]* report +gs:\/\/uploads\/digits\.tar\.gz\.report\.json\n$/,
        );
      }
    });

    it('prints the reasons of what starts nothing, and the reports as JSON', async () => {
      const { stdout } = await cli('cp', 'model/deep/notes.txt', 'gs://uploads/');
      expect(stdout).toMatch(
        /notes\.txt was REFUSED:\n +- NOT_AN_ARCHIVE: .*\n[\s\S]*report +gs:\/\/uploads\/notes\.txt\.rep/,
      );
      expect((await cli('--format=json', 'cp', 'digits.tar.gz', 'gs://uploads/a/')).json()).toMatchObject([
        { to: 'gs://uploads/a/digits.tar.gz' },
        { report: 'gs://uploads/a/digits.tar.gz.report.json', verdict: 'ACCEPTED', jobId: 'digits' },
      ]);
    });

    it('waits for no report on files in a folder, in another bucket, or once it is interrupted', async () => {
      cloud.onObject = () => {};
      expect((await cli('cp', 'model/weights.json', 'gs://uploads/data/')).stdout).not.toContain('report');
      const argv = ['cp', 'digits.tar.gz', 'gs://uploads/'];
      const io = { dataDir: cloud.dataDir, cwd: work, interrupted: AbortSignal.abort() };
      expect((await runCli(argv, io)).stdout).toMatch(/has no report yet\.\n +report +gs:/);
    });
  });

  it('downloads folders and patterns, and copies between buckets', async () => {
    await put('run/model.json', 'run/checkpoints/1.json');
    await cli('cp', '-r', 'gs://jobs/run', 'fetched/');
    expect(await readFile(join(work, 'fetched/run/checkpoints/1.json'), 'utf8')).toBe(
      'content of run/checkpoints/1.json',
    );
    await cli('cp', 'gs://jobs/run/*.json', '.');
    expect(await readFile(join(work, 'model.json'), 'utf8')).toBe('content of run/model.json');
    await cli('cp', 'gs://jobs/run/model.json', 'gs://uploads/a/copy.json');
    expect((await cli('cat', 'gs://uploads/a/copy.json')).stdout).toBe('content of run/model.json');
  });

  it('rejects object names that point outside of the target folder', async () => {
    await put('run/../../../escaped.txt');
    const { code, stderr } = await cli('cp', '-r', 'gs://jobs/run', 'here/');
    expect([code, stderr]).toEqual([1, expect.stringContaining('points outside of the target')]);
  });

  it.each([
    [['none.txt', 'gs://jobs/'], 1, /none\.txt does not exist/],
    [['model', 'gs://jobs/'], 1, /is a folder: use -r/],
    [['gs://jobs/run', '.'], 1, /No object matches gs:\/\/jobs\/run\. It is a folder: .* use -r/],
    [['model/weights.json', 'gs://nowhere/'], 1, /gs:\/\/nowhere does not exist/],
    [['model/weights.json', 'model/deep/notes.txt', 'gs://jobs/one'], 2, /add a trailing slash/],
    [['gs://jobs/run'], 2, /requires a source and a destination/],
    [['gs:/jobs', 'x'], 2, /must be in a bucket/],
  ])('rejects %j', async (argv, code, message) => {
    await put('run/model.json');
    expect(await cli('cp', ...argv)).toMatchObject({ code, stderr: expect.stringMatching(message) });
  });
});

describe('dropforge cat and rm', () => {
  beforeEach(() => put('run/a', 'run/b', 'runs'));

  it('prints objects one after another, and none if one does not exist', async () => {
    expect((await cli('cat', 'gs://jobs/run/a', 'gs://jobs/runs')).stdout).toBe('content of run/acontent of runs');
    expect(await cli('cat', 'gs://jobs/run/a', 'gs://jobs/run/c')).toMatchObject({ code: 1, stdout: '' });
    expect((await cli('cat', 'gs://jobs/run/a', '--format=json')).json()).toEqual([
      { uri: 'gs://jobs/run/a', content: 'content of run/a' },
    ]);
    expect(await cli('cat', 's3://jobs/run/a')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('use gs://BUCKET/OBJECT'),
    });
  });

  it('deletes objects, and folders only with -r', async () => {
    expect((await cli('rm', 'gs://jobs/run')).code).toBe(1);
    expect((await cli('rm', '-r', 'gs://jobs/run')).stdout).toBe('Deleted gs://jobs/run/a\nDeleted gs://jobs/run/b\n');
    expect(await listed('gs://jobs')).toEqual(['gs://jobs/runs']);
  });
});

describe('--all-versions', () => {
  it('lists and deletes noncurrent versions, which frees disk space', async () => {
    await put('run/model.json', 'run/model.json', 'run/log.txt');
    const measured = async () => ((await cli('status', '--format=json')).json() as [{ storage: object }])[0].storage;
    expect((await cli('rm', '-r', 'gs://jobs/run')).code).toBe(0);
    expect(await measured()).toEqual({ sizeBytes: 72, noncurrentBytes: 72 });
    expect((await cli('status')).stdout).toMatch(/^buckets {4}72 B on disk, 72 B of it noncurrent/m);
    expect(await listed('-r', '-a', 'gs://jobs/run')).toEqual([
      expect.stringMatching(/^gs:\/\/jobs\/run\/log\.txt#\d+$/),
      expect.stringMatching(/^gs:\/\/jobs\/run\/model\.json#\d+$/),
      expect.stringMatching(/^gs:\/\/jobs\/run\/model\.json#\d+$/),
    ]);
    expect((await cli('rm', '-r', '--all-versions', 'gs://jobs/run')).stdout.trim().split('\n')).toHaveLength(3);
    expect(await measured()).toEqual({ sizeBytes: 0, noncurrentBytes: 0 });
  });
});
