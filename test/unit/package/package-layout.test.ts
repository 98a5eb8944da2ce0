import { describe, expect, it } from 'vitest';
import type { PackageLayout } from '#shared/domain/package-layout.ts';
import { decideLayout } from '#shared/package/metadata/package-layout.ts';

type Files = Readonly<Record<string, string>>;

/** A layout that imports from its root alone, runs there, and requires nothing, except for what is stated. */
type Expected = Pick<PackageLayout, 'style'> &
  Partial<Omit<PackageLayout, 'program'>> & {
    /** `MODULE PATH` or `SCRIPT PATH`. */
    readonly program: string | null;
  };

/** The program is stated as `ARCHIVE MODULE`. */
type Case = readonly [what: string, run: string, files: Files, layout: Expected];

function empty(...paths: readonly string[]): Files {
  return Object.fromEntries(paths.map((path) => [path, '']));
}

const CASES: readonly Case[] = [
  [
    'a source distribution',
    'trainer-0.1.tar.gz trainer.task',
    {
      ...empty('trainer-0.1/PKG-INFO', 'trainer-0.1/trainer/__init__.py', 'trainer-0.1/trainer/task.py'),
      'trainer-0.1/setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    },
    { style: 'PROJECT', root: 'trainer-0.1', program: 'MODULE trainer-0.1/trainer/task.py', workingDirectory: null },
  ],
  [
    'a source distribution with an __init__.py beside setup.py',
    'trainer-0.1.tar.gz trainer.task',
    {
      ...empty('trainer-0.1/__init__.py', 'trainer-0.1/trainer/__init__.py', 'trainer-0.1/trainer/task.py'),
      'trainer-0.1/setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    },
    { style: 'PROJECT', root: 'trainer-0.1', program: 'MODULE trainer-0.1/trainer/task.py', workingDirectory: null },
  ],
  [
    'a project at the root of the archive',
    'trainer.zip trainer.task',
    {
      ...empty('trainer/__init__.py', 'trainer/task.py', 'job.yaml'),
      'setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    },
    { style: 'PROJECT', program: 'MODULE trainer/task.py', workingDirectory: null },
  ],
  [
    'a project in src layout',
    'p.tar.gz trainer.task',
    {
      ...empty('p/src/trainer/task.py'),
      'p/pyproject.toml':
        '[build-system]\nrequires = ["hatchling"]\n[project]\nname = "trainer"\ndependencies = ["numpy"]\n',
      'p/requirements.txt': '-e .\nnumpy==2.0.0\n',
    },
    {
      style: 'PROJECT',
      root: 'p',
      importRoots: ['p/src', 'p'],
      program: 'MODULE p/src/trainer/task.py',
      workingDirectory: null,
    },
  ],
  [
    'a setup.cfg without a setup.py',
    'p.tar.gz trainer.task',
    { ...empty('p/trainer/task.py', 'p/trainer/__init__.py'), 'p/setup.cfg': '[metadata]\nname = trainer\n' },
    { style: 'PROJECT', root: 'p', program: 'MODULE p/trainer/task.py', workingDirectory: null },
  ],
  [
    'a setup.cfg with settings of other tools only',
    'p.tar.gz trainer.task',
    { ...empty('p/trainer/task.py', 'p/trainer/__init__.py'), 'p/setup.cfg': '[flake8]\nmax-line-length = 120\n' },
    { style: 'SOURCES', root: 'p', program: 'MODULE p/trainer/task.py' },
  ],
  [
    'setup.py inside the package itself',
    'trainer.tar.gz trainer.task',
    {
      ...empty('trainer/__init__.py', 'trainer/task.py'),
      'trainer/setup.py': "from setuptools import setup\nsetup(name='trainer', install_requires=['numpy'])\n",
    },
    {
      style: 'PROJECT',
      root: 'trainer',
      importRoots: ['', 'trainer'],
      program: 'MODULE trainer/task.py',
      workingDirectory: null,
    },
  ],
  [
    'requirements.txt beside a setup.py that declares dependencies',
    'p.tar.gz trainer.task',
    {
      ...empty('p/trainer/__init__.py', 'p/trainer/task.py'),
      'p/setup.py': "from setuptools import setup\nsetup(name='trainer', install_requires=['numpy'])\n",
      'p/requirements.txt': 'pandas\n',
    },
    { style: 'PROJECT', root: 'p', program: 'MODULE p/trainer/task.py', workingDirectory: null },
  ],
  [
    'requirements.txt beside a setup.py that declares none',
    'p.tar.gz trainer.task',
    {
      ...empty('p/trainer/__init__.py', 'p/trainer/task.py'),
      'p/setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
      'p/requirements.txt': 'pandas\n',
    },
    {
      style: 'PROJECT',
      root: 'p',
      program: 'MODULE p/trainer/task.py',
      workingDirectory: null,
      requirementFiles: ['p/requirements.txt'],
    },
  ],
  [
    'requirements.txt beside a pyproject.toml with optional dependencies only',
    'p.tar.gz trainer.task',
    {
      ...empty('p/trainer/task.py'),
      'p/pyproject.toml':
        '[build-system]\nrequires = []\n[project]\nname = "p"\n[project.optional-dependencies]\ndev = ["ruff"]\n',
      'p/requirements.txt': 'pandas\n',
    },
    {
      style: 'PROJECT',
      root: 'p',
      program: 'MODULE p/trainer/task.py',
      workingDirectory: null,
      requirementFiles: ['p/requirements.txt'],
    },
  ],
  [
    'the script of a project',
    'neat.tar.gz examples/xor/evolve-minimal.py',
    {
      ...empty('neat/neat/__init__.py', 'neat/examples/xor/evolve-minimal.py', 'neat/examples/xor/config-feedforward'),
      'neat/setup.py': "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    },
    { style: 'PROJECT', root: 'neat', program: 'SCRIPT neat/examples/xor/evolve-minimal.py' },
  ],
  [
    'an importable package',
    'trainer.tar.gz trainer.task',
    empty('trainer/__init__.py', 'trainer/task.py', 'trainer/job.yaml'),
    { style: 'SOURCES', program: 'MODULE trainer/task.py' },
  ],
  [
    'an importable package with requirements inside',
    'trainer.tar.gz trainer.task',
    { ...empty('trainer/__init__.py', 'trainer/task.py'), 'trainer/requirements.txt': 'numpy\n' },
    { style: 'SOURCES', program: 'MODULE trainer/task.py', requirementFiles: ['trainer/requirements.txt'] },
  ],
  [
    'a module of an importable package, named from inside it',
    'trainer.tar.gz task',
    empty('trainer/__init__.py', 'trainer/task.py'),
    { style: 'SOURCES', root: 'trainer', program: 'MODULE trainer/task.py' },
  ],
  [
    'a package without __init__.py',
    'trainer.tar.gz trainer.task',
    empty('trainer/task.py'),
    { style: 'SOURCES', program: 'MODULE trainer/task.py' },
  ],
  [
    'a package in a folder, beside its requirements',
    'wrapper.tar.gz wrapper.train',
    { ...empty('job/wrapper/__init__.py', 'job/wrapper/train.py', 'job/README.md'), 'job/requirements.txt': 'numpy\n' },
    {
      style: 'SOURCES',
      root: 'job',
      program: 'MODULE job/wrapper/train.py',
      requirementFiles: ['job/requirements.txt'],
    },
  ],
  [
    'a package with a __main__.py',
    'p.zip trainer',
    empty('trainer/__init__.py', 'trainer/__main__.py'),
    { style: 'SOURCES', program: 'MODULE trainer/__main__.py' },
  ],
  [
    'a package without a __main__.py cannot be run',
    'p.zip trainer',
    empty('trainer/__init__.py', 'trainer.py'),
    { style: 'SOURCES', program: null },
  ],
  [
    'a folder of flat modules',
    'mine.tar.gz train',
    { ...empty('mine/train.py', 'mine/model.py'), 'mine/requirements.txt': 'numpy\n' },
    { style: 'SOURCES', root: 'mine', program: 'MODULE mine/train.py', requirementFiles: ['mine/requirements.txt'] },
  ],
  [
    'flat modules at the root',
    'mine.tar.gz train',
    empty('train.py', 'model.py', 'job.yaml'),
    { style: 'SOURCES', program: 'MODULE train.py' },
  ],
  [
    'flat modules that macOS packed',
    'mine.zip train',
    empty('mine/train.py', 'mine/._train.py', '__MACOSX/mine/._train.py', '._mine', '.DS_Store'),
    { style: 'SOURCES', root: 'mine', program: 'MODULE mine/train.py' },
  ],
  [
    'a folder beside the job file is not the root',
    'mine.tar.gz train',
    empty('job.yaml', 'mine/train.py'),
    { style: 'SOURCES', program: null },
  ],
  [
    'flat modules in src',
    'mine.tar.gz train',
    empty('mine/src/train.py', 'mine/README.md'),
    { style: 'SOURCES', root: 'mine', importRoots: ['mine/src', 'mine'], program: 'MODULE mine/src/train.py' },
  ],
  [
    'a script with files beside it',
    'nanoGPT.tar.gz train.py',
    empty('nanoGPT/train.py', 'nanoGPT/configurator.py', 'nanoGPT/config/train_shakespeare_char.py'),
    { style: 'SOURCES', root: 'nanoGPT', program: 'SCRIPT nanoGPT/train.py' },
  ],
  [
    'a script below the root, with requirements at both levels',
    'm.tar.gz ./src/micrograd/train.py',
    {
      ...empty('m/src/micrograd/train.py', 'm/src/micrograd/engine.py'),
      'm/src/micrograd/requirements.txt': 'numpy\n',
      'm/requirements.txt': 'pandas\n',
    },
    {
      style: 'SOURCES',
      root: 'm',
      importRoots: ['m', 'm/src'],
      program: 'SCRIPT m/src/micrograd/train.py',
      requirementFiles: ['m/requirements.txt', 'm/src/micrograd/requirements.txt'],
    },
  ],
  [
    'a script whose path begins with the top-level folder',
    'm.tar.gz m/train.py',
    empty('m/train.py'),
    { style: 'SOURCES', program: 'SCRIPT m/train.py' },
  ],
  [
    'setup.py is not a program',
    'm.tar.gz setup.py',
    empty('m/setup.py', 'm/train.py'),
    { style: 'PROJECT', root: 'm', program: null, workingDirectory: null },
  ],
  [
    'sources whose pyproject.toml lists dependencies and has no build system',
    'uv.tar.gz train',
    {
      ...empty('uv/train.py'),
      'uv/pyproject.toml':
        '[project]\nname = "uv"\nversion = "0"\ndependencies = [\n  "numpy>=1.20",  # arrays\n  "pandas; python_version < \'3.12\'",\n]\n',
    },
    {
      style: 'SOURCES',
      root: 'uv',
      program: 'MODULE uv/train.py',
      requirements: ['numpy>=1.20', "pandas; python_version < '3.12'"],
    },
  ],
  [
    'sources with the settings of tools in pyproject.toml',
    'r.tar.gz train.py',
    { ...empty('r/train.py', 'r/requirements.txt'), 'r/pyproject.toml': '[tool.ruff]\nline-length = 100\n' },
    { style: 'SOURCES', root: 'r', program: 'SCRIPT r/train.py', requirementFiles: ['r/requirements.txt'] },
  ],
  [
    'a module that is nowhere',
    'r.tar.gz trainer.task',
    empty('r/train.py'),
    { style: 'SOURCES', root: 'r', program: null },
  ],
  [
    'a package that lacks the module',
    'trainer.tar.gz trainer.taks',
    empty('trainer/__init__.py', 'trainer/task.py'),
    { style: 'SOURCES', program: null },
  ],
  [
    'build and test files are not modules to run',
    'm.tar.gz conftest',
    empty('m/conftest.py', 'm/train.py'),
    { style: 'SOURCES', root: 'm', program: null },
  ],
  [
    'a setup.cfg with options only, which declare dependencies',
    'p.tar.gz trainer.task',
    {
      ...empty('p/trainer/task.py'),
      'p/setup.cfg': '[options]\ninstall_requires =\n  numpy\n',
      'p/requirements.txt': 'pandas\n',
    },
    { style: 'PROJECT', root: 'p', program: 'MODULE p/trainer/task.py', workingDirectory: null },
  ],
  ['a single file', 'train.py train', empty('train.py'), { style: 'FILE', program: 'MODULE train.py' }],
  ['a single file as a script', 'train.py train.py', empty('train.py'), { style: 'FILE', program: 'SCRIPT train.py' }],
  [
    'a single file with a dash in its name',
    'evolve-minimal.py evolve-minimal.py',
    empty('evolve-minimal.py'),
    { style: 'FILE', program: 'SCRIPT evolve-minimal.py' },
  ],
  [
    'another module than the single file',
    'train.py trainer.task',
    empty('train.py'),
    { style: 'FILE', program: null, workingDirectory: null },
  ],
  [
    'a requirements file beside a single file',
    'requirements-gpu.txt train',
    { 'requirements-gpu.txt': 'numpy\n' },
    { style: 'FILE', program: null, workingDirectory: null, requirementFiles: ['requirements-gpu.txt'] },
  ],
  [
    'a wheel',
    'trainer-0.1-py3-none-any.whl trainer.task',
    empty('trainer/__init__.py', 'trainer/task.py', 'trainer-0.1.dist-info/METADATA'),
    { style: 'WHEEL', program: 'MODULE trainer/task.py', workingDirectory: null },
  ],
  [
    'a script in a wheel is not at a known path',
    'trainer-0.1-py3-none-any.whl train.py',
    empty('train.py', 'trainer-0.1.dist-info/METADATA'),
    { style: 'WHEEL', program: null, workingDirectory: null },
  ],
  [
    'the inline metadata of a single script lists its requirements',
    'train.py train',
    {
      'train.py':
        '# /// script\n# requires-python = ">=3.10"\n# dependencies = [\n#   "einops==0.8.1",\n#   "rich",\n# ]\n# ///\nimport einops\n',
    },
    { style: 'FILE', program: 'MODULE train.py', requirements: ['einops==0.8.1', 'rich'] },
  ],
  [
    'the inline metadata of a script adds to the requirements of its folder',
    'p.zip src/train.py',
    {
      'p/src/train.py':
        '# /// script\n# requires-python = ">=3.10"\n# dependencies = [\n#   "einops==0.8.1",\n#   "rich",\n# ]\n# ///\nimport einops\n',
      'p/requirements.txt': 'numpy\n',
      'p/src/other.py': '# /// script\n# dependencies = ["scipy"]\n# ///\n',
    },
    {
      style: 'SOURCES',
      root: 'p',
      importRoots: ['p', 'p/src'],
      program: 'SCRIPT p/src/train.py',
      requirementFiles: ['p/requirements.txt'],
      requirements: ['einops==0.8.1', 'rich'],
    },
  ],
  [
    'inline metadata of an installed module is a comment',
    'p.zip trainer.task',
    {
      ...empty('setup.py', 'trainer/__init__.py'),
      'trainer/task.py':
        '# /// script\n# requires-python = ">=3.10"\n# dependencies = [\n#   "einops==0.8.1",\n#   "rich",\n# ]\n# ///\nimport einops\n',
    },
    { style: 'PROJECT', program: 'MODULE trainer/task.py', workingDirectory: null },
  ],
  [
    'inline metadata that is not TOML is a comment',
    'train.py train.py',
    { 'train.py': '# /// script\n# dependencies = [\n# ///\n' },
    { style: 'FILE', program: 'SCRIPT train.py' },
  ],
];

function layoutOf({ root = '', program, ...stated }: Expected): PackageLayout {
  const [kind, path = ''] = program?.split(' ') ?? [];
  const ran = kind === 'MODULE' || kind === 'SCRIPT' ? ({ kind, path } as const) : null;
  const unstated = { importRoots: [root], workingDirectory: root, requirementFiles: [], requirements: [] };
  return { root, program: ran, ...unstated, ...stated };
}

describe('the layout of a package', () => {
  it.each(CASES.map(([what, ...rest]) => [what, rest] as const))('%s', (_, [run, files, expected]) => {
    const [name = '', module = ''] = run.split(' ');
    const tree = { name, paths: new Set(Object.keys(files)), readText: (path: string) => files[path] ?? null };
    expect(decideLayout(tree, module)).toEqual(layoutOf(expected));
  });
});
