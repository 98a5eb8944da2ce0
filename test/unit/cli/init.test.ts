import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectLocalPackage } from '#cli/submit/check-packages.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-init-'));
});
afterEach(() => rm(folder, { recursive: true }));

const cli = (...argv: string[]) => runCli(argv, { cwd: folder });

describe('dropforge init', () => {
  it.each(['python', 'pytorch'])(
    'writes a project of %s that `run` accepts, and says what to type',
    async (template) => {
      const { code, stdout } = await cli('init', template, 'my_model');
      expect(code).toBe(0);
      expect(stdout.split('\n').slice(1)).toEqual([
        '  cd my_model',
        '  python3 -m unittest',
        '  npx dropforge run .',
        '',
      ]);
      expect((await inspectLocalPackage(join(folder, 'my_model'))).warnings).toEqual([]);
      const dryRun = await cli('run', 'my_model', '--dry-run');
      expect([dryRun.code, dryRun.stderr]).toEqual([0, '']);
      expect(dryRun.stdout).not.toMatch(/error:|warning:/);
    },
  );

  it('fills the current folder if it is empty but for hidden files', async () => {
    await mkdir(join(folder, '.git'));
    const { code, stdout } = await cli('init');
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('cd ')]);
    expect((await readdir(folder)).sort()).toEqual(['.git', 'job.yaml', 'test_trainer.py', 'trainer']);
  });

  it.each([[[]], [['python']], [['python', '.']]])(
    'changes nothing in a folder with files: init %j',
    async (operands) => {
      await writeFile(join(folder, 'job.yaml'), 'mine');
      const { code, stderr } = await cli('init', ...operands);
      expect([code, stderr]).toEqual([1, expect.stringContaining('is not empty, and nothing was written.')]);
      expect(await readdir(folder)).toEqual(['job.yaml']);
      expect(await readFile(join(folder, 'job.yaml'), 'utf8')).toBe('mine');
    },
  );

  it('names the templates, with what to type, if there is none of a name', async () => {
    const { code, stderr } = await cli('init', 'my_model');
    expect([code, stderr]).toEqual([
      2,
      'error: There is no template my_model: use python or pytorch, such as `npx dropforge init python my_model`.\n',
    ]);
  });
});
