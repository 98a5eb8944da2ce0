import { describe, expect, it } from 'vitest';
import { type Files, installedOf } from '../../support/package/installed-of.ts';
import { verdictOf } from '../../support/package/lint-subject.ts';

const PROJECT = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["numpy>=1", "huggingface-hub[xet]"]\n';
const registry = 'source = { registry = "https://pypi.org/simple" }';

/** A lock as uv writes it, of a project with `numpy` in a version for each Python, and an extra of a dependency. */
const UV_LOCK = `
version = 1
revision = 3
requires-python = ">=3.10"

[[package]]
name = "mine"
version = "1"
source = { virtual = "." }
dependencies = [
    { name = "huggingface-hub", extra = ["xet"] },
    { name = "numpy", version = "1.26.4", ${registry}, marker = "python_full_version < '3.11'" },
    { name = "numpy", version = "2.3.1", ${registry}, marker = "python_full_version >= '3.11'" },
]

[package.optional-dependencies]
gpu = [
    { name = "torch", version = "2.9.1+cu128", marker = "sys_platform == 'linux' and extra == 'extra-4-mine-gpu'" },
]

[package.dev-dependencies]
dev = [
    { name = "pytest" },
]

[[package]]
name = "colorama"
version = "0.4.6"
${registry}

[[package]]
name = "hf-xet"
version = "1.1.9"
${registry}

[[package]]
name = "huggingface-hub"
version = "0.34.4"
${registry}
dependencies = [
    { name = "tqdm" },
]

[package.optional-dependencies]
xet = [
    { name = "hf-xet", marker = "platform_machine == 'x86_64'" },
]

[[package]]
name = "numpy"
version = "1.26.4"
${registry}

[[package]]
name = "numpy"
version = "2.3.1"
${registry}

[[package]]
name = "pytest"
version = "8.4.1"
${registry}

[[package]]
name = "torch"
version = "2.9.1+cu128"
source = { registry = "https://download.pytorch.org/whl/cu128" }

[[package]]
name = "tqdm"
version = "4.67.1"
${registry}
dependencies = [
    { name = "colorama", marker = "sys_platform == 'win32'" },
]
`;

const LOCKED = [
  "hf-xet==1.1.9 ; platform_machine == 'x86_64'",
  'huggingface-hub==0.34.4',
  "numpy==1.26.4 ; python_full_version < '3.11'",
  "numpy==2.3.1 ; python_full_version >= '3.11'",
  'tqdm==4.67.1',
];

describe('A uv.lock', () => {
  it('is what pip installs: the versions that the program needs on Linux, with the markers that a VM decides', async () => {
    const found = await installedOf({ 'pyproject.toml': PROJECT, 'uv.lock': UV_LOCK });
    expect(found).toEqual({ style: 'SOURCES', requirementFiles: [], requirements: LOCKED, said: [] });
  });

  it('is also installed with a project that pip builds', async () => {
    const pyproject = `${PROJECT}[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n`;
    const found = await installedOf({ 'pyproject.toml': pyproject, 'uv.lock': UV_LOCK });
    expect(found).toMatchObject({ style: 'PROJECT', requirements: LOCKED, said: [] });
  });

  it('brings the groups and extras that pyproject.toml chooses, from the index that has them', async () => {
    const pyproject = `${PROJECT}[tool.dropforge]\ngroups = ["gpu", "dev"]\n`;
    const { requirements } = await installedOf({ 'pyproject.toml': pyproject, 'uv.lock': UV_LOCK });
    const torch = ['--extra-index-url=https://download.pytorch.org/whl/cu128', 'torch==2.9.1+cu128'];
    expect(requirements).toEqual(expect.arrayContaining([...torch, ...LOCKED, 'pytest==8.4.1']));
    expect(requirements).toHaveLength(8);
  });

  it('keeps git and other URLs, follows packages at paths, and names those', async () => {
    const lock = `
version = 1
[[package]]
name = "mine"
version = "1"
source = { editable = "." }
dependencies = [{ name = "kernels" }, { name = "member" }, { name = "wheel-at" }]
[[package]]
name = "kernels"
version = "0.2"
source = { git = "https://github.com/someone/kernels?subdirectory=python&rev=v0.2#0123abc" }
[[package]]
name = "member"
version = "1"
source = { directory = "packages/member" }
dependencies = [{ name = "six" }]
[[package]]
name = "six"
version = "1.16.0"
${registry}
[[package]]
name = "wheel-at"
version = "3"
source = { url = "https://example.com/wheel_at-3-py3-none-any.whl" }
`;
    const { requirements, said } = await installedOf({ 'uv.lock': lock });
    expect(requirements).toEqual([
      'kernels @ git+https://github.com/someone/kernels@0123abc#subdirectory=python',
      'six==1.16.0',
      'wheel-at @ https://example.com/wheel_at-3-py3-none-any.whl',
    ]);
    expect(said).toEqual(['DEPENDENCIES_NOT_INSTALLED: uv.lock has member at paths, which are not installed.']);
  });

  it('with overrides, which pip refuses, is installed without dependencies', async () => {
    const lock = UV_LOCK.replace(
      '[[package]]',
      '[manifest]\noverrides = [{ name = "numpy", specifier = "==1" }]\n\n[[package]]',
    );
    const { requirements, said } = await installedOf({ 'pyproject.toml': PROJECT, 'uv.lock': lock });
    expect(requirements).toEqual(['--no-deps', ...LOCKED]);
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: uv.lock overrides what packages require of numpy: nothing is installed that it does not list.',
    ]);
  });

  it('that has one version by two addresses takes that of the processors', async () => {
    const wheel = (machine: string) => `source = { url = "https://example.com/k-1-${machine}.whl" }`;
    const one = (machine: string) =>
      `{ name = "k", version = "1", ${wheel(machine)}, marker = "platform_machine == '${machine}'" }`;
    const lock = `version = 1
[[package]]
name = "mine"
source = { virtual = "." }
dependencies = [${one('x86_64')}, ${one('aarch64')}, { name = "k", version = "1", marker = "platform_machine == 'x' and sys_platform == 'win32'" }]
[[package]]
name = "k"
version = "1"
${wheel('x86_64')}
[[package]]
name = "k"
version = "1"
${wheel('aarch64')}
`;
    expect((await installedOf({ 'uv.lock': lock })).requirements).toEqual([
      "k @ https://example.com/k-1-aarch64.whl ; platform_machine == 'aarch64'",
      "k @ https://example.com/k-1-x86_64.whl ; platform_machine == 'x86_64'",
    ]);
  });

  it('that lacks a dependency is completed with it, and named', async () => {
    const pyproject = PROJECT.replace('"numpy>=1"', '"scipy>=1.11", "pywin32; sys_platform == \'win32\'"');
    const { requirements, said } = await installedOf({ 'pyproject.toml': pyproject, 'uv.lock': UV_LOCK });
    expect(requirements).toEqual([...LOCKED, 'scipy>=1.11']);
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: uv.lock lacks scipy>=1.11, which pyproject.toml lists: the newest version is installed.',
    ]);
  });

  it.each([
    ['has conflicts of a merge', '<<<<<<< HEAD\nversion = 1\n'],
    ['is of another version', 'version = 2\n'],
    ['is too large', `version = 1\n#${'x'.repeat(4 << 20)}\n`],
  ])('that %s is named, and the dependencies of pyproject.toml are installed', async (_, lock) => {
    const { requirements, said } = await installedOf({ 'pyproject.toml': PROJECT, 'uv.lock': lock });
    expect(requirements).toEqual(['numpy>=1', 'huggingface-hub[xet]']);
    expect(said).toEqual([
      expect.stringMatching(/uv\.lock is invalid or too large: it is not read, and not installed\.$/),
    ]);
  });

  it('with a cycle, and many ways to a package, ends', async () => {
    const count = 300;
    const packages = Array.from({ length: count }, (_, index) => {
      const links = [1, 2, 3].map(
        (step) => `{ name = "p${(index + step) % count}", marker = "python_version < '3.${index * 3 + step}'" }`,
      );
      return `[[package]]\nname = "p${index}"\nversion = "1"\n${registry}\ndependencies = [${links.join(', ')}]\n`;
    });
    const root = '[[package]]\nname = "mine"\nsource = { virtual = "." }\ndependencies = [{ name = "p0" }]\n';
    const { requirements } = await installedOf({ 'uv.lock': `version = 1\n${root}${packages.join('')}` });
    expect(requirements).toHaveLength(count);
  });
});

const POETRY =
  '[tool.poetry]\nname = "mine"\npackage-mode = false\n[tool.poetry.dependencies]\npython = "^3.9"\nrich = "^13"\n';
const BACKEND = '[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n';

const poetryPackage = (name: string, version: string, rest = '') =>
  `[[package]]\nname = "${name}"\nversion = "${version}"\noptional = false\npython-versions = "*"\n${rest}\n`;

describe('A poetry.lock', () => {
  it('of Poetry 2 brings its main group, whose project is not built in non-package mode', async () => {
    const lock = [
      poetryPackage('rich', '13.9.4', 'groups = ["main", "dev"]\nmarkers = "python_version >= \'3.9\'"'),
      poetryPackage('pytest', '8.4.1', 'groups = ["dev"]'),
      poetryPackage(
        'tools',
        '1',
        'groups = ["main"]\n[package.source]\ntype = "git"\nurl = "https://g.io/t.git"\nresolved_reference = "0123abc"',
      ),
      poetryPackage(
        'own',
        '2',
        'groups = ["main"]\n[package.source]\ntype = "legacy"\nurl = "https://example.com/simple"\nreference = "own"',
      ),
      poetryPackage('pywin32', '3', 'groups = ["main"]\nmarkers = "sys_platform == \'win32\'"'),
      '[metadata]\nlock-version = "2.1"\n',
    ].join('');
    const found = await installedOf({ 'pyproject.toml': `${POETRY}${BACKEND}`, 'poetry.lock': lock });
    expect(found).toEqual({
      style: 'SOURCES',
      requirementFiles: [],
      requirements: [
        '--extra-index-url=https://example.com/simple',
        'own==2',
        "rich==13.9.4 ; python_version >= '3.9'",
        'tools @ git+https://g.io/t.git@0123abc',
      ],
      said: [],
    });
  });

  it('of Poetry 1 brings what the dependencies of the project lead to', async () => {
    const lock = [
      poetryPackage(
        'rich',
        '13.0.0',
        '[package.dependencies]\nPygments = ">=2"\ncolorama = {version = "*", markers = "platform_system == \\"Windows\\""}',
      ),
      poetryPackage('pygments', '2.19.2'),
      poetryPackage('colorama', '0.4.6'),
      poetryPackage('pytest', '7.0.0'),
    ].join('');
    const { requirements } = await installedOf({ 'pyproject.toml': `${POETRY}${BACKEND}`, 'poetry.lock': lock });
    expect(requirements).toEqual(['pygments==2.19.2', 'rich==13.0.0']);
  });

  it('that is missing is asked for, since only Poetry reads its dependencies', async () => {
    const { said } = await installedOf({ 'pyproject.toml': POETRY });
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: pyproject.toml lists dependencies that only Poetry can read: they are not installed.',
    ]);
  });
});

const ENVIRONMENT = `
name: mine
channels: [conda-forge]
dependencies:
  - conda-forge::python=3.8
  - pip
  - numpy=1.26
  - python-dateutil
  - pip:
    - einops==0.8.0
    - --extra-index-url https://download.pytorch.org/whl/cu121
    - -e .
`;

describe('An environment.yml', () => {
  it('brings its part for pip, and names what else it lists', async () => {
    const { requirements, said } = await installedOf({ 'environment.yml': ENVIRONMENT });
    expect(requirements).toEqual(['einops==0.8.0', '--extra-index-url=https://download.pytorch.org/whl/cu121']);
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: Of environment.yml, only the part of pip is installed: numpy=1.26, python-dateutil, -e . are not, unless the image has them.',
    ]);
  });

  it('is compared with the Python of the image', async () => {
    expect(await verdictOf({ 'setup.py': 'setup()', 'environment.yml': ENVIRONMENT })).toEqual([
      'WARNING PYTHON_LIMIT',
    ]);
    const fitting = ENVIRONMENT.replace('3.8', '3.10.4=h12debb9_0');
    expect(await verdictOf({ 'setup.py': 'setup()', 'environment.yml': fitting })).toEqual([]);
  });

  it.each([
    ['cannot be parsed', 'dependencies: [a\n  - {{ b }}'],
    ['is nested too deeply', `dependencies: ${'['.repeat(100_000)}`],
    [
      'has too many aliases',
      `a: &a [x, x]\n${[...'bcdefghijklm'].map((name, index) => `${name}: &${name} [${`*${'abcdefghijkl'[index]}, `.repeat(9)}]\n`).join('')}`,
    ],
    ['is in UTF-16', Buffer.from(ENVIRONMENT, 'utf16le').toString('latin1')],
  ])('that %s is named', async (_, text) => {
    const { said } = await installedOf({ 'environment.yml': text });
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: environment.yml is invalid or too large: it is not read, and not installed.',
    ]);
  });
});

describe('Of several lists of dependencies', () => {
  it.each<[string, Files, string[]]>([
    [
      'Packages are installed from requirements.txt, and not from uv.lock.',
      { 'requirements.txt': 'numpy\n', 'uv.lock': UV_LOCK },
      [],
    ],
    [
      'Packages are installed from uv.lock, and not from environment.yml.',
      { 'pyproject.toml': PROJECT, 'uv.lock': UV_LOCK, 'environment.yml': ENVIRONMENT },
      LOCKED,
    ],
    [
      'Packages are installed from pyproject.toml, and not from environment.yaml.',
      { 'pyproject.toml': PROJECT, 'environment.yaml': ENVIRONMENT },
      ['numpy>=1', 'huggingface-hub[xet]'],
    ],
    [
      'Packages are installed from the dependencies of the project, and not from environment.yml.',
      { 'setup.py': "setup(name='mine', install_requires=['six'])", 'environment.yml': ENVIRONMENT },
      [],
    ],
  ])('one is installed, and the others are named: %s', async (message, files, requirements) => {
    expect(await installedOf(files)).toMatchObject({ requirements, said: [`DEPENDENCIES_NOT_INSTALLED: ${message}`] });
  });
});

describe('A dependency group', () => {
  const groups =
    '[dependency-groups]\nbase = ["six"]\ntrain = ["einops", { include-group = "base" }, { include-group = "train" }]\ndev = ["pytest"]\n';

  it('is not installed, and is named unless it is for development', async () => {
    const { requirements, said } = await installedOf({ 'pyproject.toml': `${PROJECT}${groups}` });
    expect(requirements).toEqual(['numpy>=1', 'huggingface-hub[xet]']);
    expect(said).toEqual([
      'DEPENDENCIES_NOT_INSTALLED: Dependency groups are not installed by themselves: base, train.',
    ]);
  });

  it('that pyproject.toml chooses and does not have is named', async () => {
    const { said } = await installedOf({ 'pyproject.toml': `${PROJECT}[tool.dropforge]\ngroups = ["trian"]\n` });
    expect(said).toEqual(['DEPENDENCIES_NOT_INSTALLED: pyproject.toml has no dependency group or extra trian.']);
  });

  it.each(['[tool.dropforge]\ngroups = ["train"]\n', '[tool.uv]\ndefault-groups = ["train"]\n'])(
    'is installed with the groups that it includes, if %s names it',
    async (table) => {
      const { requirements } = await installedOf({ 'pyproject.toml': `${PROJECT}${groups}${table}` });
      expect(requirements).toEqual(['numpy>=1', 'huggingface-hub[xet]', 'einops', 'six']);
    },
  );
});
