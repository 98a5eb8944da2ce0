import { chmod, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildSourceDistribution } from '../../../cli/submit/source-distribution.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'dropforge-sdist-'));
});
afterEach(() => rm(root, { recursive: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}

type Packed = { readonly mode: number | undefined; readonly content: string };

async function unpack(bytes: Uint8Array): Promise<Map<string, Packed>> {
  const packed = new Map<string, Packed>();
  for await (const entry of Readable.from([bytes]).pipe(createGunzip()).pipe(extract())) {
    packed.set(entry.header.name, { mode: entry.header.mode, content: await text(entry) });
  }
  return packed;
}

async function pack(path: string, options: Parameters<typeof buildSourceDistribution>[1] = {}) {
  const distribution = await buildSourceDistribution(join(root, path), options);
  return { ...distribution, entries: await unpack(distribution.bytes) };
}

describe('a source distribution', () => {
  it('contains the package, sub-packages and data, and the requirements beside them', async () => {
    await write({
      'trainer/__init__.py': '',
      'trainer/task.py': 'print(1)',
      'trainer/env/__init__.py': '',
      'trainer/words.txt': 'a b c',
      'requirements.txt': 'numpy',
      'README.md': 'read me',
      'other/__init__.py': '',
      'data.csv': '1,2',
    });
    const { entries, fileName } = await pack('trainer');
    expect(fileName).toBe('trainer-0.0.0.tar.gz');
    expect([...entries.keys()].sort()).toEqual([
      'README.md',
      'requirements.txt',
      'trainer/__init__.py',
      'trainer/env/__init__.py',
      'trainer/task.py',
      'trainer/words.txt',
    ]);
  });

  it('keeps empty folders, also those that only a hidden file keeps in version control', async () => {
    await write({
      'vae/main.py': 'print(1)',
      'vae/results/.gitignore': '*.png',
      'vae/.git/HEAD': '',
      'vae/env/pyvenv.cfg': '',
    });
    await mkdir(join(root, 'vae/out/images'), { recursive: true });
    const { entries } = await pack('vae');
    expect([...entries.keys()].sort()).toEqual(['vae/main.py', 'vae/out/images/', 'vae/results/']);
  });

  it("keeps the user's own setup.py and includes every package that it can install", async () => {
    await write({
      'setup.py': '# mine',
      'MANIFEST.in': '',
      'version.py': '',
      'trainer/__init__.py': '',
      'common/__init__.py': '',
      'src/deep/__init__.py': '',
      'data/big.csv': '1',
      'notes.txt': '',
    });
    const { entries } = await pack('trainer');
    expect([...entries.keys()].map((name) => name.slice('trainer-0.0.0/'.length)).sort()).toEqual([
      'MANIFEST.in',
      'PKG-INFO',
      'common/__init__.py',
      'setup.py',
      'src/deep/__init__.py',
      'trainer/__init__.py',
      'version.py',
    ]);
    expect(entries.get('trainer-0.0.0/setup.py')?.content).toBe('# mine');
  });

  it.each([
    ['setup.py', "setup(name='digits', version='0.1.0')", 'digits-0.1.0'],
    ['setup.py', 'setup(version=read_version())', 'trainer-0.0.0'],
    ['setup.py', "setup(version='../../0.1')", 'trainer-0.0.0'],
    ['setup.cfg', '[metadata]\nname = my-digits\nversion = 2.0rc1\n', 'my_digits-2.0rc1'],
    ['setup.cfg', '[metadata]\nversion = attr: trainer.__version__\n', 'trainer-0.0.0'],
    ['pyproject.toml', '[project]\nname = "digits"\nversion = "1!3.0+cu12"\n', 'digits-1!3.0+cu12'],
    ['pyproject.toml', '[project]\nname = "digits"\ndynamic = ["version"]\n', 'digits-0.0.0'],
    ['pyproject.toml', '[project', 'trainer-0.0.0'],
  ])('is named after the metadata in %s: %s', async (path, content, expected) => {
    await write({ 'trainer/__init__.py': '', 'setup.py': '', [path]: content });
    const { fileName, entries } = await pack('trainer');
    expect(fileName).toBe(`${expected}.tar.gz`);
    const [name, version] = expected.split('-');
    expect(entries.get(`${expected}/PKG-INFO`)?.content).toBe(
      `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    );
  });

  it('includes a project root as a whole, for scripts and their files', async () => {
    await write({
      'project/pyproject.toml': '[project]',
      'project/trainer/__init__.py': '',
      'project/run/xor.cfg': '',
    });
    const { entries, fileName } = await pack('project');
    expect(fileName).toBe('project-0.0.0.tar.gz');
    expect([...entries.keys()].sort()).toEqual(
      ['PKG-INFO', 'pyproject.toml', 'run/xor.cfg', 'trainer/__init__.py'].map((name) => `project-0.0.0/${name}`),
    );
  });

  it('includes a folder of scripts under its own name', async () => {
    await write({ 'mine/train.py': '', 'mine/data/words.txt': '', 'mine/.git/config': '', 'other.py': '' });
    const { entries, fileName } = await pack('mine');
    expect(fileName).toBe('mine-0.0.0.tar.gz');
    expect([...entries.keys()]).toEqual(['mine/data/words.txt', 'mine/train.py']);
  });

  it('contains a single file with the requirements beside it', async () => {
    await write({ 'train.py': '', 'other.py': '', 'requirements.txt': 'numpy' });
    const { entries, fileName } = await pack('train.py');
    expect(fileName).toBe('train-0.0.0.tar.gz');
    expect([...entries.keys()]).toEqual(['requirements.txt', 'train.py']);
  });

  it('contains a single file with the locks beside it, and a pyproject.toml that is not built', async () => {
    const files = { 'solo.py': '', 'uv.lock': '', 'environment.yml': '', 'other.lock': '', 'pyproject.toml': '' };
    await write(files);
    const { 'other.lock': _, ...packed } = files;
    expect([...(await pack('solo.py')).entries.keys()]).toEqual(Object.keys(packed).sort());
    await write({ 'pyproject.toml': '[build-system]\nrequires = ["hatchling"]\n' });
    expect((await pack('solo.py')).entries.has('pyproject.toml')).toBe(false);
  });

  it('adds requirements, unless the project lists its own', async () => {
    await write({ 'app/requirements.txt': 'numpy', 'app/__init__.py': '', 'app/task.py': '' });
    const options = { requirements: ['git+https://example.com/x.git'], isWhole: true };
    const { entries } = await pack('app', options);
    expect(entries.get('app/requirements.txt')?.content).toBe('numpy\ngit+https://example.com/x.git\n');
    await write({ 'app/setup.py': "setup(install_requires=['numpy'])" });
    await expect(pack('app', options)).rejects.toThrow(/declares its own requirements: add git\+https/);
  });

  it('excludes caches, hidden files, virtual environments and the credentials of CI', async () => {
    await write({
      'trainer/__init__.py': '',
      'trainer/__pycache__/task.cpython-311.pyc': '',
      'trainer/old.pyc': '',
      'trainer/.git/config': '',
      'trainer/.env': 'SECRET=1',
      'trainer/gha-creds-0123456789abcdef.json': '{"credential_source": "SECRET"}',
      'trainer/.venv/pyvenv.cfg': '',
      'trainer/my-env/pyvenv.cfg': '',
      'trainer/my-env/lib/site.py': '',
      'trainer.egg-info/PKG-INFO': '',
    });
    expect([...(await pack('trainer')).entries.keys()].filter((name) => name.startsWith('trainer/'))).toEqual([
      'trainer/__init__.py',
    ]);
  });

  it('is byte-for-byte reproducible', async () => {
    await write({ 'a/trainer/__init__.py': '', 'a/trainer/b.py': '1' });
    await write({ 'b/trainer/b.py': '1', 'b/trainer/__init__.py': '' });
    expect((await pack('a/trainer')).bytes).toEqual((await pack('b/trainer')).bytes);
    await write({ 'b/trainer/b.py': '2' });
    expect((await pack('a/trainer')).bytes).not.toEqual((await pack('b/trainer')).bytes);
  });

  it('keeps executable bits, and follows links to files but not to folders', async () => {
    await write({ 'trainer/__init__.py': '', 'trainer/run.sh': '#!/bin/sh', 'shared.py': 'x = 1' });
    await chmod(join(root, 'trainer/run.sh'), 0o755);
    await symlink('../shared.py', join(root, 'trainer/linked.py'));
    await symlink('.', join(root, 'trainer/loop'));
    const { entries } = await pack('trainer');
    expect(entries.get('trainer/run.sh')?.mode).toBe(0o755);
    expect(entries.get('trainer/linked.py')?.content).toBe('x = 1');
    expect([...entries.keys()].filter((name) => name.includes('loop'))).toEqual([]);
  });

  it('adds extra files to the root, or replaces existing ones', async () => {
    await write({ 'trainer/__init__.py': '', 'requirements.txt': 'old' });
    const { entries } = await pack('trainer', { extraFiles: { 'job.yaml': 'jobId: one', 'requirements.txt': 'new' } });
    expect(entries.get('job.yaml')?.content).toBe('jobId: one');
    expect(entries.get('requirements.txt')?.content).toBe('new');
  });

  it('rejects a missing folder, and a package with training data', async () => {
    await write({ 'trainer/__init__.py': '', 'trainer/images.bin': '' });
    await expect(pack('none')).rejects.toThrow(/cannot be read \(ENOENT\)/);
    await truncate(join(root, 'trainer/images.bin'), 201 * 2 ** 20);
    await expect(pack('trainer')).rejects.toThrow(
      /201 MiB, more than the maximum of 200 MiB.*trainer\/images\.bin.*into a bucket/,
    );
  });
});
