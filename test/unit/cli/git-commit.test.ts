import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
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

  it('is not dirty because of new files that are not packed', async () => {
    await writeFile(join(folder, 'trainer', 'gha-creds-0123456789abcdef.json'), '{}');
    await mkdir(join(folder, 'trainer', '__pycache__'));
    await writeFile(join(folder, 'trainer', '__pycache__', 'task.cpython-311.pyc'), '');
    expect(await read()).toMatchObject({ isDirty: false });
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

describe('no program of a folder that another person wrote is started', () => {
  const program = () => `touch ${join(folder, 'started')}`;
  /** A file whose state only its filter knows. */
  async function addFilter(name: string) {
    git('init', '-q');
    await writeFile(join(folder, '.gitattributes'), `*.py filter=${name}\n`);
    git('add', '.');
    git('commit', '-q', '-m', 'First');
    git('config', `filter.${name}.required`, 'true');
    git('config', `filter.${name}.clean`, program());
    await writeFile(join(folder, 'trainer', 'task.py'), 'print(2)\n');
  }

  it('by a filter', async () => {
    await addFilter('evil');
    expect(await read()).toMatchObject({ isDirty: true });
    expect(await readdir(folder)).not.toContain('started');
  });

  it('by a filter whose name has a sign of equality', async () => {
    await addFilter('a=b');
    const commit = await read();
    expect(await readdir(folder)).not.toContain('started');
    expect(commit).toBeUndefined();
  });

  it('by a repository among the files of a clone', async () => {
    await addFilter('evil');
    git('config', 'core.worktree', '.');
    for (const name of await readdir(join(folder, '.git'))) {
      await rename(join(folder, '.git', name), join(folder, name));
    }
    await rm(join(folder, '.git'), { recursive: true });
    await readGitCommit([{ kind: 'FOLDER', path: folder }]);
    expect(await readdir(folder)).not.toContain('started');
  });

  it('by a submodule', async () => {
    await addFilter('evil');
    const outer = await mkdtemp(join(tmpdir(), 'dropforge-git-'));
    try {
      await rename(folder, join(outer, 'inner'));
      await mkdir(folder);
      execFileSync('git', ['init', '-q', outer]);
      git('-C', outer, '-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
      git('-C', outer, 'commit', '-q', '-m', 'First');
      const commit = await readGitCommit([{ kind: 'FOLDER', path: outer }]);
      expect(await readdir(folder)).not.toContain('started');
      expect(commit).toMatchObject({ isDirty: false });
    } finally {
      await rm(outer, { recursive: true });
    }
  });

  it('by the remote of a partial clone that lacks objects', async () => {
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'First');
    const tree = git('rev-parse', 'HEAD^{tree}');
    await rm(join(folder, '.git', 'objects', tree.slice(0, 2), tree.slice(2)));
    const options = {
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'origin',
      'remote.origin.url': folder,
      'remote.origin.promisor': 'true',
      'remote.origin.uploadpack': `${program()}; git-upload-pack`,
      'protocol.file.allow': 'always',
    };
    for (const [name, value] of Object.entries(options)) {
      git('config', name, value);
    }
    expect(await read()).toBeUndefined();
    expect(await readdir(folder)).not.toContain('started');
  });
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
