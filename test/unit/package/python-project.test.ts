import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { checkWheelArchitecture } from '#shared/package/metadata/wheel.ts';
import { sourceOf, TRAINER, tarGzOf, wheelOf, zipOf } from '../../support/package/build-archives.ts';

/** Inspects a flat source project of the given files. */
async function inspectFiles(files: Readonly<Record<string, string>>, module?: string) {
  const entries = Object.entries(files).map(([path, data]) => ({ path, data }));
  return await inspectPackage(sourceOf('t.tar.gz', tarGzOf(entries)), module === undefined ? {} : { module });
}

const codes = (problems: readonly { readonly code: string }[]) => problems.map(({ code }) => code);

it('reads the inline metadata of a program that is too long to be scanned', async () => {
  const block = '# /// script\n# dependencies = ["einops"]\n# ///\n';
  const files = { 'p/train.py': `${block}${'# data\n'.repeat(50_000)}`, 'p/other.py': block };
  const { programOf, layoutOf, evidence } = await inspectFiles(files);
  expect(programOf('train').requirements).toEqual(['einops']);
  expect(layoutOf('train')).toMatchObject({ requirements: ['einops'] });
  expect(evidence.isComplete).toBe(false);
});

describe('metadata of a source project', () => {
  it('reads literals of setup.py and omits computed values', async () => {
    const script = `
from setuptools import setup, find_packages  # setup(name='comment')
"""setup(name='docstring')"""
REQUIRED = ['x']
setuptools.setup(
    name = "trainer",  # its name
    version=get_version(),
    description='a (b] {c' 'd',
    python_requires='>=3.9',
    packages=find_packages(include=['trainer']),
    install_requires=['numpy[extra]>=1.20', "pandas; python_version < '3.12'",],
    extras_require={'gpu': ['cupy']},
)`;
    expect(await inspectFiles({ 'setup.py': script })).toMatchObject({
      name: 'trainer',
      version: null,
      requiresPython: '>=3.9',
      requirements: ['numpy[extra]>=1.20', "pandas; python_version < '3.12'"],
    });
  });

  it.each([
    ['an unfinished call', "setup(name='a', version="],
    ['an unfinished string', "setup(name='a', version='''1"],
    ['a stray quote', "setup(name='a', x=', \nversion=v)"],
    ['concatenated strings', "setup(name='a', version='1' + '.0')"],
    ['a formatted string', "setup(name='a', version=f'{v}')"],
  ])('reads the other values despite %s', async (_what, script) => {
    expect(await inspectFiles({ 'setup.py': script })).toMatchObject({ name: 'a', version: null, problems: [] });
  });

  it('reads pyproject.toml', async () => {
    const pyproject =
      '[project]\nname = "trainer"\nversion = "2"\ndependencies = ["numpy"]\nrequires-python = ">=3.10"\n';
    expect(await inspectFiles({ 'pyproject.toml': pyproject })).toMatchObject({
      name: 'trainer',
      version: '2',
      requirements: ['numpy'],
      requiresPython: '>=3.10',
      problems: [],
    });
  });

  it.each([
    ['[project\n', { code: 'PYPROJECT_INVALID', line: 1 }],
    ['[project]\nname = 3\n', { code: 'PYPROJECT_INVALID', message: expect.stringContaining('project.name') }],
  ])('reports the error in %j', async (text, problem) => {
    expect((await inspectFiles({ 'pyproject.toml': text })).problems).toMatchObject([problem]);
  });

  it('reads setup.cfg, with precedence of generated metadata', async () => {
    const config =
      '[metadata]\nname = a\nversion = attr: a.__version__\n[options]\ninstall_requires =\n    numpy\n    # no\n    pandas>=2\n';
    const authored = { 'setup.py': 'setup()', 'setup.cfg': config };
    expect(await inspectFiles(authored)).toMatchObject({
      name: 'a',
      version: null,
      requirements: ['numpy', 'pandas>=2'],
    });
    const built = 'Metadata-Version: 2.1\nName: b\nVersion: 1.2\nRequires-Dist: torch; extra == "gpu"\n\nName: body';
    expect(await inspectFiles({ ...authored, 'PKG-INFO': built })).toMatchObject({
      name: 'b',
      version: '1.2',
      requirements: ['numpy', 'pandas>=2'],
    });
  });

  it('rejects metadata that is not UTF-8', async () => {
    const latin = { path: 'trainer-1.0/job.yaml', data: Buffer.from([0x61, 0x3a, 0xe9]) };
    const { problems } = await inspectPackage(sourceOf('t.zip', zipOf([...TRAINER, latin])));
    expect(problems).toMatchObject([{ code: 'TEXT_NOT_UTF8', path: 'trainer-1.0/job.yaml' }]);
  });
});

describe('the module to run', () => {
  const files = {
    'setup.py': 'setup()',
    'trainer/__init__.py': '',
    'trainer/task.py': '',
    'trainer/tools/__init__.py': '',
    'trainer/app/__init__.py': '',
    'trainer/app/__main__.py': '',
    'loose/run.py': '',
  };

  it.each(['trainer.task', 'trainer.app', 'trainer/task.py', './loose/run.py'])('finds %s', async (module) => {
    expect(await inspectFiles(files, module)).toMatchObject({ problems: [], warnings: [] });
  });

  it('suggests similar modules if it is missing', async () => {
    const { problems } = await inspectFiles(files, 'trainer.tasks');
    expect(problems).toMatchObject([
      { code: 'MODULE_NOT_FOUND', message: expect.stringContaining('Similar names: trainer.task,') },
    ]);
  });

  it.each([
    ['trainer.tools', 'MODULE_NOT_RUNNABLE'],
    ['trainer/task', 'MODULE_NAME_INVALID'],
    ['../trainer/task.py', 'MODULE_NAME_INVALID'],
    ['trainer/tasks.py', 'MODULE_NOT_FOUND'],
    ['trainer..task', 'MODULE_NAME_INVALID'],
    ['setup', 'MODULE_NOT_FOUND'],
  ])('rejects %s with %s', async (module, code) => {
    expect(codes((await inspectFiles(files, module)).problems)).toEqual([code]);
  });

  it.each([
    ['train', { 'job.yaml': '', 'mine/train.py': '' }, 'Similar names: mine.train.'],
    ['trainer.taks', { 'trainer/task.py': '' }, 'Similar names: trainer.task, task.'],
    ['tools/train.py', { 'm/src/train.py': '', 'm/tools/eval.py': '' }, 'Similar names: src/train.py, tools/eval.py.'],
  ])('suggests the nearest name in the archive for %s', async (module, tree, suggestion) => {
    const { problems } = await inspectFiles(tree, module);
    expect(problems).toMatchObject([{ code: 'MODULE_NOT_FOUND', message: expect.stringContaining(suggestion) }]);
  });

  it('accepts a module of a project that its setup.py does not install, since it is imported from the sources', async () => {
    const listed = { ...files, 'setup.py': "setup(packages=['trainer'])" };
    expect(await inspectFiles(listed, 'loose.run')).toMatchObject({ problems: [], warnings: [] });
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    [
      'automatic discovery in src/',
      { 'setup.py': 'setup()', 'src/trainer/__init__.py': '', 'src/trainer/task.py': '' },
    ],
    [
      'package_dir of setup.py',
      { 'setup.py': "setup(package_dir={'': 'lib'})", 'lib/trainer/__init__.py': '', 'lib/trainer/task.py': '' },
    ],
    [
      'a renamed package',
      { 'setup.py': "setup(package_dir={'trainer': 'code'})", 'code/__init__.py': '', 'code/task.py': '' },
    ],
    [
      'where of setup.cfg',
      {
        'setup.py': '',
        'setup.cfg': '[options.packages.find]\nwhere = lib\n',
        'lib/trainer/__init__.py': '',
        'lib/trainer/task.py': '',
      },
    ],
    [
      'where of pyproject.toml',
      {
        'pyproject.toml': '[tool.setuptools.packages.find]\nwhere = ["lib"]',
        'lib/trainer/__init__.py': '',
        'lib/trainer/task.py': '',
      },
    ],
  ])('is found by %s', async (_what, project) => {
    expect(await inspectFiles(project, 'trainer.task')).toMatchObject({ problems: [], warnings: [] });
  });
});

describe('wheels', () => {
  const name = 'trainer-1.0-py3-none-any.whl';

  it.each([
    [name, { without: ['WHEEL'] }, ['WHEEL_METADATA_INVALID', 'WHEEL_RECORD_MISMATCH']],
    [name, { without: ['METADATA', 'WHEEL', 'RECORD'] }, ['WHEEL_METADATA_INVALID']],
    [name, { more: [{ path: 'trainer/slipped_in.py' }] }, ['WHEEL_RECORD_MISMATCH']],
    [name, { without: ['task.py'] }, ['WHEEL_RECORD_MISMATCH']],
    ['trainer.whl', {}, ['WHEEL_NAME_INVALID']],
    ['other-1.0-py3-none-any.whl', {}, ['WHEEL_NAME_INVALID']],
    ['trainer-1.0-cp311-cp311-win_amd64.whl', {}, ['WHEEL_PLATFORM_UNSUITABLE']],
    ['trainer-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl', {}, []],
    ['trainer-1.0-cp311-cp311-manylinux_2_28_aarch64.whl', {}, []],
  ])('%s with %j is reported as %j', async (wheelName, parts, expected) => {
    const { problems } = await inspectPackage(sourceOf(wheelName, wheelOf(parts)));
    expect([...codes(problems)].sort()).toEqual([...expected].sort());
  });

  it.each([
    ['cp311-cp311-manylinux_2_28_aarch64', 'arm64', []],
    ['cp311-cp311-manylinux_2_28_aarch64', 'amd64', ['WHEEL_PLATFORM_UNSUITABLE']],
    ['cp311-cp311-manylinux_2_17_x86_64', 'arm64', ['WHEEL_PLATFORM_UNSUITABLE']],
    ['cp311-cp311-manylinux_2_17_x86_64', 'amd64', []],
    ['py3-none-any', 'arm64', []],
  ] as const)('with the tag %s on %s machines are reported as %j', (tag, architecture, expected) => {
    expect(codes(checkWheelArchitecture({ name: 'trainer', wheelTags: [tag] }, architecture))).toEqual(expected);
  });

  it('recognizes a renamed wheel', async () => {
    const { problems } = await inspectPackage(sourceOf('trainer.zip', wheelOf()));
    expect(problems).toMatchObject([{ code: 'NOT_INSTALLABLE', message: expect.stringContaining('.whl') }]);
  });
});
