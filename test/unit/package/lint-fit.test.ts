import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf } from '../../support/package/build-archives.ts';
import { type Files, lint, NO_GPU, ONE_GPU, reportOf, setupOf, verdictOf } from '../../support/package/lint-subject.ts';

describe('PYTHON_LIMIT of requirements', () => {
  it.each([
    ['tensorflow==1.15.5', '3.10', 'tensorflow>=2.8.0'],
    ['tensorflow>=1.14,<2', '3.12', 'tensorflow>=2.16.0'],
    ['torch~=1.13.1', '3.12', 'torch>=2.2.0'],
    ['numpy==1.19.*', '3.10', 'numpy>=1.21.2'],
    ['scikit_learn<=0.24', '3.10', 'scikit-learn>=1.0.1'],
    ['Pillow==9.5.0', '3.12', 'pillow>=10.0.1'],
    ['transformers==4.24.0', '3.12', 'transformers>=4.34.0'],
    ['tensorflow-gpu==2.9', '3.12', 'Remove tensorflow-gpu'],
  ])('is a warning: %s on %s', async (requirement, pythonVersion, remedy) => {
    const { warnings } = lint([await reportOf(setupOf(requirement))], { pythonVersion });
    expect(warnings).toMatchObject([{ code: 'PYTHON_LIMIT', remedy: expect.stringContaining(remedy) }]);
  });

  it.each([
    ['tensorflow==2.8.0', '3.10'],
    ['tensorflow>=1.14', '3.12'],
    ['numpy<2', '3.12'],
    ['numpy!=1.19', '3.12'],
    ['torch==2.*', '3.12'],
    ['pandas~=2.1', '3.12'],
    ['numpy==1.19', '3.11'],
    ['xgboost==0.90', '3.12'],
    ['numpy @ https://host.example/numpy-1.19.whl', '3.12'],
    ['numpy==1.19; python_version < "3.8"', '3.12'],
  ])('is not reported: %s on %s', async (requirement, pythonVersion) => {
    expect(await verdictOf(setupOf(requirement), { pythonVersion })).toEqual([]);
  });
});

describe('inline metadata of a script (PEP 723)', () => {
  const script = (fields: string) => `# /// script\n${fields.replaceAll(/^/gm, '# ')}\n# ///\nprint(1)\n`;
  const inspect = (text: string) => inspectPackage(sourceOf('train.py', Buffer.from(text)));

  it('has requirements like those of a package', async () => {
    const report = await inspect(script('dependencies = [\n  "numpy==1.19",\n]'));
    expect(report.programOf('train').requirements).toEqual(['numpy==1.19']);
    expect(lint([report], { module: 'train' }).warnings).toMatchObject([{ code: 'PYTHON_LIMIT' }]);
  });

  it('has the Python versions of the script', async () => {
    const report = await inspect(script('requires-python = ">=3.13"'));
    expect(lint([report], { module: 'train.py' }).problems).toMatchObject([{ code: 'PYTHON_LIMIT' }]);
  });

  it('is a comment if it is not TOML', async () => {
    const report = await inspect(script('dependencies = ['));
    expect(lint([report], { module: 'train' })).toEqual({ problems: [], warnings: [], hints: [] });
  });
});

const codesOf = async (task: string, machines = ONE_GPU, more: Files = {}) => {
  const { warnings, hints } = lint([await reportOf({ 'trainer/task.py': task, ...more })], { machines });
  return [...warnings, ...hints].map(({ code }) => code);
};

describe('GPU_NOT_USED', () => {
  it('is a warning with the price of the GPUs if the sources import only libraries for tables', async () => {
    const machines = [{ ...ONE_GPU[0], count: 2, gpuPerHourUsd: 0.35 }] as typeof ONE_GPU;
    const task = 'import numpy as np\nimport pandas as pd\nfrom sklearn.svm import SVC\nfrom trainer import load\n';
    const report = await reportOf({ 'trainer/task.py': task, 'trainer/load.py': 'import json\n' });
    expect(lint([report], { machines }).warnings).toMatchObject([
      {
        code: 'GPU_NOT_USED',
        message: expect.stringContaining('$0.70 an hour, but the sources import pandas, sklearn'),
      },
    ]);
    expect(await codesOf('import xgboost\n')).toEqual(['GPU_NOT_USED']);
  });

  it.each([
    ['no machine has a GPU', 'import sklearn\n', NO_GPU],
    ['XGBoost is configured for one', 'import xgboost\nxgboost.train({"device": "cuda"})\n', ONE_GPU],
    ['an argument may configure it', 'import lightgbm\np.add_argument("--device")\n', ONE_GPU],
    ['a function imports a framework', 'import sklearn\ndef f():\n  import torch\n', ONE_GPU],
    ['another library may use it', 'import sklearn\nimport library_of_mine\n', ONE_GPU],
    ['nothing trains', 'import json\n', ONE_GPU],
  ])('is not reported if %s', async (_, task, machines) => {
    expect(await codesOf(task, machines)).toEqual([]);
  });

  it('is not reported for RAPIDS, which pandas and scikit-learn can run on', async () => {
    expect(await codesOf('import pandas\n', ONE_GPU, setupOf('cudf-cu12'))).toEqual([]);
  });
});

describe('GPU_ADVISED', () => {
  const network = 'import torch\nlayer = torch.nn.Conv2d(1, 2, 3)\nloss.backward()\n';

  it('is a hint, no warning, if a deep network trains without a GPU', async () => {
    expect(await codesOf(network, NO_GPU)).toEqual(['GPU_ADVISED']);
    expect(await verdictOf({ 'trainer/task.py': network }, { machines: NO_GPU })).toEqual([]);
  });

  it.each([
    [network, ONE_GPU],
    ['import torch\nmodel = torch.nn.Linear(4, 2)\nloss.backward()\n', NO_GPU],
    ['# Conv2d\nimport torch\nloss.backward()\n', NO_GPU],
  ])('is not given for %j', async (task, machines) => {
    expect(await codesOf(task, machines)).toEqual([]);
  });
});
