import { describe, expect, it } from 'vitest';
import { runtimeFor } from '#infra/machine-image/read-runtimes.ts';
import { findModuleImports } from '#shared/package/scan/module-imports.ts';
import { type Files, lint, NO_GPU, reportOf, setupOf } from '../../support/package/lint-subject.ts';

const imageOf = (version: string) => {
  const { pythonVersion = '', packages = [] } = runtimeFor(version) ?? {};
  return { pythonVersion, imagePackages: packages, machines: NO_GPU };
};

/** The missing modules and what to require, in the image of the default runtime. */
async function missingIn(files: Files, version = '2.20', module = 'trainer.task'): Promise<string[]> {
  const { warnings } = lint([await reportOf(files)], { ...imageOf(version), module });
  const found = warnings.filter(({ code }) => code === 'MISSING_MODULE');
  return found.map(({ message, remedy = '' }) => `${/imports (\S+),/.exec(message)?.[1]}: ${remedy.split(',')[0]}`);
}

const taskOf = (task: string, ...requirements: readonly string[]) => ({
  'trainer/task.py': task,
  ...setupOf(...requirements),
});

describe('MISSING_MODULE', () => {
  it.each([
    ['import sklearn\n', 'sklearn: Add scikit-learn'],
    ['from PIL import Image\n', undefined],
    ['import cv2\n', 'cv2: Add opencv-python-headless'],
    ['import yaml, numpy\n', 'yaml: Add pyyaml'],
    ['from google.cloud import bigquery\n', 'google.cloud.bigquery: Add google-cloud-bigquery'],
    ['from google.cloud import storage\n', undefined],
    ['from matplotlib import (\n  pyplot as plt,\n)\n', 'matplotlib: Add matplotlib'],
    ['import os; import scipy.sparse as sp\n', 'scipy: Add scipy'],
    [
      'import cPickle\n',
      'cPickle: Replace cPickle; docs.python.org/3/howto/pyporting says by what. If this is intended',
    ],
    ['import imp\n', 'imp: Replace imp; docs.python.org/3/whatsnew/3.12 says by what. If this is intended'],
    ['import helpers_of_mine\n', 'helpers_of_mine: Add its file to the package'],
    ['import distutils, tomllib, tensorflow, keras, pandas, hypertune, requests, six\n', undefined],
  ])('is what the image of TensorFlow 2.20 lacks: %j', async (task, expected) => {
    expect(await missingIn(taskOf(task))).toEqual(expected === undefined ? [] : [expect.stringContaining(expected)]);
  });

  it('depends on the runtime of the job', async () => {
    const task = taskOf('import sklearn, xgboost, torch\n');
    expect(await missingIn(task, 'scikit-learn-1.0')).toEqual([
      'torch: Add torch to install_requires or requirements.txt. If this is intended',
    ]);
    expect(await missingIn(task, 'pytorch-1.13')).toEqual([
      'sklearn: Add scikit-learn',
      'xgboost: Add xgboost to install_requires or requirements.txt. If this is intended',
    ]);
  });

  it('names file and line of the import, also of one in a module that the program imports', async () => {
    const files = {
      'trainer/task.py': 'from trainer import model\nfrom . import data\n',
      'trainer/model.py': '\nimport transformers\n',
      'trainer/data/__init__.py': 'from .load import rows\n',
      'trainer/data/load.py': 'import einops\n',
      'trainer/unused.py': 'import seaborn\n',
    };
    const { warnings } = lint([await reportOf(files)], imageOf('pytorch-2.9'));
    expect(warnings).toMatchObject([
      { code: 'MISSING_MODULE', path: 'trainer-1.0/trainer/data/load.py', line: 1 },
      {
        path: 'trainer-1.0/trainer/model.py',
        line: 2,
        message: expect.stringContaining('imports transformers, which'),
      },
    ]);
  });

  it.each([
    ['in a block that may not run', 'try:\n  import sklearn\nexcept ImportError:\n  sklearn = None\n'],
    ['for type checkers', 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import sklearn\n'],
    ['in a function', 'def train():\n  import sklearn\n'],
    ['in a string', '"""\nimport sklearn\n"""\n'],
    ['in a program that installs it', 'import os\nos.system("pip install scikit-learn")\nimport sklearn\n'],
    ['of a module that a path may bring', 'import sys\nsys.path.append("/gcs/code")\nimport helpers_of_mine\n'],
  ])('is not reported %s', async (_, task) => {
    expect(await missingIn(taskOf(task))).toEqual([]);
  });

  it.each([
    ['by a requirement', taskOf('import sklearn, joblib\n', 'scikit-learn>=1')],
    ['by what a requirement requires', taskOf('import sklearn, PIL, torch\n', 'sentence-transformers')],
    ['perhaps by an unknown requirement', taskOf('import sklearn\n', 'library-of-mine')],
    ['perhaps by a URL', taskOf('import sklearn\n', 'mine @ git+https://github.com/someone/mine')],
    ['by a requirement of the platform', taskOf('import sklearn\n', 'scikit-learn; sys_platform == "linux"')],
    ['by a file', { 'trainer/task.py': 'import sklearn\n', 'requirements.txt': '# what we use\nscikit-learn\n' }],
    ['perhaps by a file in a file', { 'trainer/task.py': 'import sklearn\n', 'requirements.txt': '-r more.txt\n' }],
    ['by a copy in the package', { 'trainer/task.py': 'import sklearn\n', 'third_party/sklearn/__init__.py': '' }],
    [
      'perhaps by setup.py, which computes its requirements',
      { 'trainer/task.py': 'import sklearn\n', 'setup.py': "setup(name='trainer', install_requires=read('x'))" },
    ],
    [
      'perhaps by Poetry, whose table is not read',
      {
        'trainer/task.py': 'import sklearn\n',
        'pyproject.toml': '[tool.poetry.dependencies]\nscikit-learn = "*"\n[build-system]\n',
      },
    ],
  ])('is not reported for a module that is brought %s', async (_, files) => {
    expect(await missingIn(files)).toEqual([]);
  });

  it('is reported if the requirement does not apply on the VM', async () => {
    const requirements = 'scikit-learn; sys_platform == "win32"\n';
    const files = { 'trainer/task.py': 'import sklearn\n', 'requirements.txt': requirements };
    expect(await missingIn(files)).toEqual(['sklearn: Add scikit-learn']);
  });

  it('is not reported if the image is unknown', async () => {
    expect(lint([await reportOf(taskOf('import sklearn\n'))], { machines: NO_GPU }).warnings).toEqual([]);
  });
});

it('finds the imports at the top level of a file, with their lines', () => {
  const code =
    'import a.b as c, d\nfrom .e import (f,\n  g as h)\nfrom .. import i\nif x:\n  import j\nfrom k import \\\n  l\n';
  expect(findModuleImports(code)).toEqual([
    { module: 'a.b', level: 0, names: [], line: 1 },
    { module: 'd', level: 0, names: [], line: 1 },
    { module: 'e', level: 1, names: ['f', 'g'], line: 2 },
    { module: '', level: 2, names: ['i'], line: 4 },
    { module: 'k', level: 0, names: ['l'], line: 7 },
  ]);
});

it('reads imports of any form in a time that grows with their length', () => {
  const sources = [`from${' '.repeat(200_000)}x`, `from ${'.'.repeat(200_000)}`, `import ${'a, '.repeat(60_000)}`];
  const startedAt = performance.now();
  expect(sources.flatMap((source) => findModuleImports(source)).length).toBeLessThanOrEqual(200);
  expect(findModuleImports(`from ${'q.'.repeat(1_000)}q import a\nfrom .a import b\nfrom . import c`)).toEqual([
    { module: 'a', level: 1, names: ['b'], line: 2 },
    { module: '', level: 1, names: ['c'], line: 3 },
  ]);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
