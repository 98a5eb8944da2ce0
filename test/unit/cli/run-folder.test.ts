import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { inspectLocalPackage } from '#cli/submit/check-packages.ts';
import { startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { runCli, viewOf } from '../../support/cli/test-cloud.ts';

const { cloud, work, answer, listNames } = startCloudForEachTest();

const run = (...argv: string[]) => runCli(['run', ...argv], { dataDir: cloud().dataDir, cwd: work() });

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(work(), name)), { recursive: true });
    await writeFile(join(work(), name), content);
  }
}

async function save(name: string, content: string): Promise<void> {
  await cloud().store.write({ bucket: 'jobs', name }, Buffer.from(content));
}

/** The job that was sent under an id. */
async function sentAs(jobId: string) {
  const object = await cloud().store.read({ bucket: 'uploads', name: `${jobId}/job.yaml` });
  return object === undefined ? undefined : JSON.parse(await text(object));
}

/** The module that runs for a folder with these files; the error if it is not clear. */
async function moduleOf(files: Readonly<Record<string, string>>, operand = 'mine'): Promise<string> {
  await write(files);
  const { code, stdout, stderr } = await run(operand, '--dry-run', '--format=json');
  return code === 0 ? JSON.parse(stdout).spec.program.module : stderr;
}

beforeEach(() => {
  answer({ verdict: 'ACCEPTED', job: viewOf('mine', { state: 'QUEUED' }) });
  cloud().jobs.set('mine', [viewOf('mine')]);
});

describe('dropforge run', () => {
  it('submits a folder, says the price first, follows the log and copies the outputs', async () => {
    await write({ 'mine/train.py': 'print(1)\n', 'mine/data.csv': '1,2\n' });
    await save('mine/model/weights.json', '{}');
    const { code, stdout, stderr } = await run('mine', '--gpu=T4', '--max-runtime=2h', '--', '--epochs', '5');
    expect([code, stdout]).toEqual([0, expect.stringContaining('Job one ACCEPTED')]);
    expect(stderr.split('\n')).toEqual([
      'There is no job file: this one is used.',
      '  module: train',
      expect.stringMatching(
        /^Price on Google Cloud: \$[\d.]+ per hour, at most \$[\d.]+ in its limit of 2 h \(n1-standard-8 with 1 × nvidia-tesla-t4, on demand\)\.$/,
      ),
      'Job mine ended: SUCCEEDED.',
      'The outputs (1 file, 2 B) are in outputs/mine.',
      '',
    ]);
    expect(await readFile(join(work(), 'outputs', 'mine', 'model', 'weights.json'), 'utf8')).toBe('{}');
    expect(await sentAs('mine')).toMatchObject({
      jobFile: 'module: train\n',
      flags: [expect.stringMatching(/^--packages=/), '--gpu=T4', '--max-runtime=2h', '--', '--epochs', '5'],
      jobId: 'mine',
    });
  });

  it('copies what a failed job has saved, and exits with 1', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    await save('mine/checkpoint', 'half');
    cloud().jobs.set('mine', [viewOf('mine', { state: 'FAILED' })]);
    expect(await run('mine')).toMatchObject({ code: 1, stderr: expect.stringContaining('(1 file, 4 B)') });
    expect(await readdir(join(work(), 'outputs', 'mine'))).toContain('checkpoint');
  });

  it('copies outputs beside folder markers, and those that no file can be named', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    for (const name of ['model/', 'model/weights', 'a', 'a/below', '.gitignore', 'z']) {
      await save(`mine/${name}`, name.endsWith('/') ? '' : 'x');
    }
    const { code, stderr } = await run('mine');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /The outputs \(4 files, 4 B\) are in outputs\/mine, without 1: gs:\/\/jobs\/mine\/a\/below \(/,
      ),
    ]);
    expect(await readdir(join(work(), 'outputs', 'mine', 'model'))).toEqual(['weights']);
    expect(await readdir(join(work(), 'outputs', 'mine'))).toEqual(['.gitignore', 'a', 'model', 'z']);
    expect(await readFile(join(work(), 'outputs', 'mine', '.gitignore'), 'utf8')).toContain('Outputs of a job');
    const io = { dataDir: cloud().dataDir, cwd: work() };
    expect((await runCli(['cp', '-r', 'gs://jobs/mine/model', 'got'], io)).code).toBe(0);
    expect(await readdir(join(work(), 'got'))).toEqual(['weights']);
  });

  it('says so if the job has saved nothing, and creates no folder', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    expect(await run('mine')).toMatchObject({ stderr: expect.stringContaining('Job mine has saved no files.') });
    expect(await readdir(work())).not.toContain('outputs');
  });

  it('never writes into a folder that exists, and leaves earlier outputs out of the next package', async () => {
    await write({ 'mine/train.py': 'print(1)\n', 'mine/outputs/mine/notes.txt': 'my own' });
    await save('mine/model.json', '{}');
    const inFolder = { dataDir: cloud().dataDir, cwd: join(work(), 'mine') };
    const { stderr } = await runCli(['run'], inFolder);
    expect(stderr).toContain('The outputs (1 file, 2 B) are in outputs/mine-2.');
    expect(await readdir(join(work(), 'mine', 'outputs', 'mine'))).toEqual(['notes.txt']);
    const { entryCount } = await inspectLocalPackage(join(work(), 'mine'));
    expect(entryCount).toBe(2);
  });

  it('goes on with a free name if an earlier job has the same', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    await run('mine');
    expect((await run('mine')).stderr).toMatch(/Job mine already exists: this one is submitted as mine_\d{6}_\d{6}\./);
    const sent = (await listNames('uploads')).filter((name) => name.endsWith('/job.yaml'));
    expect(sent).toEqual(['mine/job.yaml', expect.stringMatching(/^mine_\d{6}_\d{6}\/job\.yaml$/)]);
  });

  it('says how to go on after Ctrl-C, which does not affect the job', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    cloud().jobs.set('mine', [viewOf('mine', { state: 'RUNNING' })]);
    const interruption = new AbortController();
    cloud().onAnswer = () => interruption.abort();
    const io = { dataDir: cloud().dataDir, cwd: work(), interrupted: interruption.signal };
    const { code, stderr } = await runCli(['run', 'mine'], io);
    expect(code).toBe(1);
    for (const command of ['logs mine', 'jobs cancel mine', 'cp -r gs://jobs/mine outputs/']) {
      expect(stderr).toContain(`\`npx dropforge ${command}\``);
    }
    expect(cloud().requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  it.each([
    ['while it packs', 'There is no job file'],
    ['before it uploads', 'Price on Google Cloud'],
    ['while it uploads', 'Job mine already exists'],
  ])('submits nothing after Ctrl-C %s', async (_, line) => {
    await write({ 'mine/train.py': 'print(1)\n' });
    cloud().onObject = () => {};
    await cloud().store.write({ bucket: 'uploads', name: 'mine/job.yaml' }, Buffer.from(''));
    const interruption = new AbortController();
    let written = '';
    const onOutput = (data: string | Uint8Array) => {
      written += data;
      if (written.includes(line)) {
        interruption.abort();
      }
    };
    const stderr = { write: onOutput, terminal: null, hasColors: false };
    const io = { dataDir: cloud().dataDir, cwd: work(), interrupted: interruption.signal, stderr };
    expect((await runCli(['run', 'mine'], io)).code).toBe(1);
    expect(written).toMatch(/\nInterrupted\. No job was submitted\.\n$/);
    expect(await listNames('uploads')).toEqual(['mine/job.yaml']);
  });

  it('submits nothing after Ctrl-C before it reads the folder', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    const io = { dataDir: cloud().dataDir, cwd: work(), interrupted: AbortSignal.abort() };
    expect(await runCli(['run', 'mine'], io)).toEqual(
      expect.objectContaining({ code: 1, stderr: expect.stringMatching(/Interrupted\. No job was submitted\.\n$/) }),
    );
  });

  it('says how much it uploads if that takes a while', async () => {
    await write({ 'mine/train.py': 'print(1)\n' });
    await writeFile(join(work(), 'mine', 'data.bin'), randomBytes(11 * 2 ** 20));
    expect((await run('mine')).stderr).toContain('\nUploading 11 MiB.\n');
  });

  it('leaves out a link to a file of this machine outside of the folder, as a repository of others can have it', async () => {
    await write({ 'mine/train.py': 'print(1)\n', 'mine/real.csv': '1', id_rsa: 'private' });
    await symlink('../id_rsa', join(work(), 'mine', 'notes.txt'));
    await symlink('real.csv', join(work(), 'mine', 'linked.csv'));
    const { code, stderr } = await run('mine');
    expect([code, stderr]).toEqual([0, expect.stringContaining('does not exist: notes.txt. Copy what is needed.')]);
  });

  it('leaves out links that lead to a folder or nowhere, and names them', async () => {
    await write({ 'mine/train.py': 'print(1)\n', 'mine/real.csv': '1' });
    await symlink('/mnt/nas/of-another-machine', join(work(), 'mine', 'data'));
    await symlink('real.csv', join(work(), 'mine', 'linked.csv'));
    await symlink('..', join(work(), 'mine', 'above'));
    const { code, stderr } = await run('mine');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Not packed, since they are .*: above, data\. /)]);
  });

  it.each(['python', 'python3'])('asks about a program behind --, as in -- %s train.py', async (interpreter) => {
    await write({ 'mine/train.py': 'import sys # python\n' });
    const { stderr } = await run('mine', '--', interpreter, 'train.py', '--epochs=5');
    expect(stderr).toContain(`${interpreter} behind -- goes to the program, whose source does not mention it.`);
    expect(stderr).toContain('run:\n  npx dropforge run mine -- --epochs=5\n');
    const inFolder = { dataDir: cloud().dataDir, cwd: join(work(), 'mine') };
    const alone = await runCli(['run', '--', interpreter, 'train.py'], inFolder);
    expect(alone.stderr).toContain('run:\n  npx dropforge run train.py\n');
  });

  it('rejects a name without a letter or digit', async () => {
    await write({ 'mine/train.py': '' });
    const message = expect.stringContaining("--name '' has no letter or digit");
    expect(await run('mine', '--name', '')).toMatchObject({ code: 2, stderr: message });
  });

  it('takes job file, name and further packages as they are', async () => {
    await write({
      'mine/job.yaml': 'name: mine\nmodule: trainer.task\npackages: [../dep.tar.gz]\nenv: {A: file}\n',
      'mine/train.py': '',
    });
    await run('mine', '--name', 'my run', '--env=A=flag');
    expect(await sentAs('my_run')).toMatchObject({
      jobFile: expect.stringMatching(
        /^name: mine\nmodule: trainer\.task\npackages: \["gs:.*dep\.tar\.gz"\]\nenv: {A: file}\n$/,
      ),
      flags: ['--env=A=flag'],
      jobId: 'my_run',
    });
  });

  it.each([
    ['mine/train.py', 'train'],
    ['mine/fast.yaml', 'fast'],
    ['mine/job.yaml', 'mine'],
    ['2nd-try.v1', 'job_2nd_try_v1'],
  ])('names the job of %s %s', async (operand, jobId) => {
    const job = 'module: train\n';
    await write({ 'mine/train.py': '', 'mine/fast.yaml': job, 'mine/job.yaml': job, '2nd-try.v1/train.py': '' });
    const { stdout } = await run(operand, '--dry-run', '--format=json');
    expect(JSON.parse(stdout).spec.jobId).toBe(jobId);
  });

  it('runs a container without a package', async () => {
    await write({ 'mine/job.yaml': 'image: gcr.io/p/image:1\n' });
    await run('mine/job.yaml');
    expect(await sentAs('mine')).toMatchObject({ jobFile: 'image: gcr.io/p/image:1\n', flags: [] });
  });
});

describe('the program that dropforge run infers', () => {
  const MAIN = "if __name__ == '__main__':\n  print(1)\n";

  it.each<[string, Record<string, string>, string]>([
    ['the only script', { 'mine/fit.py': 'print(1)\n' }, 'fit'],
    ['the only one with a main guard', { 'mine/a.py': 'X = 1\n', 'mine/b.py': MAIN, 'mine/setup.py': '' }, 'b'],
    ['the one that imports the others', { 'mine/a.py': 'from b import X\n', 'mine/b.py': 'X = 1\n' }, 'a'],
    ['a module of a package', { 'mine/trainer/__init__.py': '', 'mine/trainer/task.py': MAIN }, 'trainer.task'],
    ['a script of a folder', { 'mine/scripts/train.py': MAIN, 'mine/scripts/util.py': '' }, 'scripts/train.py'],
    ['not its tests', { 'mine/fit.py': MAIN, 'mine/test_fit.py': MAIN, 'mine/tests/test_more.py': MAIN }, 'fit'],
    ['not kept from by a config.yaml of another tool', { 'mine/config.yaml': 'lr: 0.1\n', 'mine/fit.py': '' }, 'fit'],
  ])('is %s', async (_, files, module) => {
    expect(await moduleOf(files)).toBe(module);
  });

  it('is the package itself if the folder is one', async () => {
    expect(await moduleOf({ 'mine/__init__.py': '', 'mine/task.py': MAIN })).toBe('mine.task');
  });

  it('is a script, alone or with the folder that it imports from', async () => {
    expect(await moduleOf({ 'mine/alone.py': 'import os\n', 'mine/other.py': '' }, 'mine/alone.py')).toBe('alone.py');
    const { stdout } = await run('mine/alone.py', '--dry-run');
    expect(stdout).toContain('--packages=alone.py.tar.gz');
    await write({ 'mine/alone.py': 'import other\n' });
    expect((await run('mine/alone.py', '--dry-run')).stdout).toContain('--packages=mine.tar.gz');
  });

  it('is asked for if there are several, with what to type', async () => {
    const files = { 'mine/evaluate.py': '', 'mine/prepare.py': '', 'mine/train.py': '' };
    const message = await moduleOf(files);
    expect(message).toContain('mine has no job.yaml, and several programs: evaluate, prepare, train.');
    expect(message).toContain('`npx dropforge run mine --module-name train`');
    expect((await run('mine')).code).toBe(2);
    expect((await run('mine', '--module-name=train', '--dry-run')).code).toBe(0);
  });

  it.each<[string, Record<string, string>, string]>([
    ['mine', { 'mine/a.ipynb': '{}' }, 'convert one with `jupyter nbconvert --to script mine/a.ipynb`'],
    ['mine/a.ipynb', { 'mine/a.ipynb': '{}' }, 'and then run `npx dropforge run mine/a.py`'],
    ['mine', { 'mine/readme.txt': '' }, 'has no Python program and no job file'],
    ['nowhere', {}, 'nowhere does not exist. Pass the folder of a program'],
  ])('is missing in %s: %j', async (operand, files, message) => {
    await write(files);
    expect(await run(operand)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
