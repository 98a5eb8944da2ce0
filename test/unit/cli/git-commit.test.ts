import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readGitCommit } from '#cli/submit/git-commit.ts';
import { addressOfCommit, describeCommit } from '#shared/views/describe/describe-commit.ts';

let folder: string;
const git = (...args: readonly string[]) => {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', [...identity, '-C', folder, ...args], { encoding: 'utf8' }).trim();
};
const read = (path = 'trainer') => readGitCommit([{ kind: 'FOLDER', path: join(folder, path) }]);

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'dropforge-git-')));
  await mkdir(join(folder, 'trainer'));
  await writeFile(join(folder, 'trainer', 'task.py'), 'print(1)\n');
});
afterEach(() => rm(folder, { recursive: true }));

describe('the commit of a folder', () => {
  beforeEach(() => {
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'First');
  });

  it('is its commit, with the remote without a token', async () => {
    git('remote', 'add', 'origin', 'https://ada:secret-token@github.com/ada/digits.git');
    const commit = { commit: git('rev-parse', 'HEAD'), remote: 'https://github.com/ada/digits.git', isDirty: false };
    expect(await read()).toEqual(commit);
    expect(await read('trainer/task.py')).toEqual(commit);
  });

  it.each([
    ['git@github.com:ada/digits.git', 'git@github.com:ada/digits.git'],
    ['ssh://git@example.com:2222/ada/digits', 'ssh://git@example.com:2222/ada/digits'],
    ['/srv/git/digits', null],
  ])('names the server of %s', async (address, remote) => {
    git('remote', 'add', 'origin', address);
    expect(await read()).toMatchObject({ remote });
  });

  it('is dirty if a file of the folder has changed or is new, and not if another one has', async () => {
    await writeFile(join(folder, 'README.md'), 'Read me.\n');
    expect(await read()).toMatchObject({ isDirty: false, remote: null });
    await writeFile(join(folder, 'trainer', 'new.py'), 'print(2)\n');
    expect(await read()).toMatchObject({ isDirty: true });
  });

  it('of a Python package covers the files of its project, which are packed with it', async () => {
    await writeFile(join(folder, 'trainer', '__init__.py'), '');
    git('add', '.');
    git('commit', '-q', '-m', 'Second');
    await writeFile(join(folder, 'setup.py'), 'from setuptools import setup\nsetup()\n');
    expect(await read()).toMatchObject({ isDirty: true });
  });

  it('is not that of an archive, which may have been built from another one', async () => {
    const source = { kind: 'ARCHIVE', path: join(folder, 'trainer.tar.gz'), flag: '--packages' } as const;
    expect(await readGitCommit([source])).toBeUndefined();
  });
});

it('a folder without a repository, or without a commit, has none', async () => {
  expect(await read()).toBeUndefined();
  git('init', '-q');
  expect(await read()).toBeUndefined();
});

describe('a commit is described', () => {
  const commit = '0123456789'.repeat(4);
  it.each([
    ['https://github.com/ada/digits.git', `https://github.com/ada/digits/commit/${commit}`],
    ['git@gitlab.com:ada/digits.git', `https://gitlab.com/ada/digits/commit/${commit}`],
    ['ssh://git@github.com/ada/digits', `https://github.com/ada/digits/commit/${commit}`],
    ['https://example.com/ada/digits', null],
    ['https://github.com/ada/digits/../../x', null],
  ])('with a link to a host whose addresses are known: %s', (remote, address) => {
    expect(addressOfCommit({ commit, remote, isDirty: true })).toBe(address);
    expect(describeCommit({ commit, remote, isDirty: true })).toBe(`${commit}, with changes, of ${remote}`);
  });
});
