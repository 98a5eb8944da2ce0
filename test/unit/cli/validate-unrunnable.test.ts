import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../support/cli/test-cloud.ts';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'dropforge-unrunnable-'));
});
afterEach(() => rm(work, { recursive: true }));

type Package = Readonly<Record<string, string>>;

/**
 * The findings of `validate --package` on a job that runs `train` in a package of these files: the codes, by severity.
 */
async function findingsOf(files: Package, fields = ''): Promise<readonly string[]> {
  const gpu = /^gpu:/.test(fields) ? '' : 'machine: n1-standard-4\n';
  await writeFile(join(work, 'job.yaml'), `name: a\nmodule: train\n${gpu}${fields}`);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(work, 'p', path)), { recursive: true });
    await writeFile(join(work, 'p', path), text);
  }
  const run = await runCli(['jobs', 'validate', 'job.yaml', '--package=p', '--format=json'], { cwd: work });
  const [found] = run.json() as Record<'errors' | 'warnings' | 'hints', { code: string; message: string }[]>[];
  const of = (severity: 'errors' | 'warnings' | 'hints') =>
    (found?.[severity] ?? []).map(({ code, message }) => `${severity} ${code} ${message}`);
  return [...of('errors'), ...of('warnings'), ...of('hints')];
}

const TORCH = 'runtime: pytorch-2.9\n';
const OLD = 'runtime: "1.15"\n';
const network = 'import torch\nlayer = torch.nn.Conv2d(1, 2, 3)\nloss.backward()\n';

/** Packages that cannot run as they are, and what is said of them. */
const UNRUNNABLE: readonly (readonly [string, Package, string, string])[] = [
  ['a module of another runtime', { 'train.py': 'import sklearn\n' }, '', 'warnings MISSING_MODULE'],
  ['a module of no requirement', { 'train.py': 'import yaml\n', 'requirements.txt': 'tqdm' }, '', 'imports yaml'],
  ['a helper that was left behind', { 'train.py': 'from helpers import load\n' }, '', 'imports helpers'],
  [
    'a module of Python 2',
    { 'train.py': 'import urllib2\n' },
    '',
    'imports urllib2, which Python has not had since 3.0',
  ],
  [
    'a module that Python dropped',
    { 'train.py': 'import imp\n' },
    '',
    'imports imp, which Python has not had since 3.12',
  ],
  ['a print statement', { 'train.py': 'print "x"\n' }, '', 'warnings PYTHON_2_ONLY'],
  [
    'an old TensorFlow',
    { 'train.py': '', 'requirements.txt': 'tensorflow==1.15.5' },
    OLD,
    '"tensorflow==1.15.5" has no wheel',
  ],
  ['an old PyTorch', { 'train.py': '', 'requirements.txt': 'torch==1.13.1' }, TORCH, '"torch==1.13.1" has no wheel'],
  ['an old NumPy', { 'train.py': '', 'requirements.txt': 'numpy==1.19.5' }, '', '"numpy==1.19.5" has no wheel'],
  [
    'an old scikit-learn',
    { 'train.py': '', 'requirements.txt': 'scikit-learn<1' },
    '',
    '"scikit-learn<1" has no wheel',
  ],
  ['sessions of TensorFlow 1', { 'train.py': 'import tensorflow as tf\ntf.Session()\n' }, '', 'errors TENSORFLOW_1'],
  ['another Python', { 'train.py': '# /// script\n# requires-python = "<3.10"\n# ///\n' }, '', 'errors PYTHON_LIMIT'],
  [
    'another Python in pyproject.toml',
    { 'train.py': '', 'pyproject.toml': '[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.13"\n' },
    TORCH,
    'errors PYTHON_LIMIT',
  ],
  [
    'an old pin in inline metadata',
    { 'train.py': '# /// script\n# dependencies = ["pandas==1.1.5"]\n# ///\nimport pandas\n' },
    '',
    '"pandas==1.1.5" has no wheel',
  ],
  ['GPUs for scikit-learn', { 'train.py': 'import pandas\n' }, 'gpu: t4\n', 'GPUs, which cost $0.35 an hour, but'],
];

describe('dropforge jobs validate --package', () => {
  it.each(UNRUNNABLE)('says what is wrong with %s', async (...[, files, fields, expected]) => {
    expect(await findingsOf(files, fields)).toContainEqual(expect.stringContaining(expected));
  });

  it('says nothing of a package that runs', async () => {
    const needs = '# /// script\n# dependencies = ["scikit-learn", "pyyaml"]\n# ///\n';
    const train = `${needs}import sklearn, yaml, numpy, tensorflow\nfrom data import rows\n`;
    expect(await findingsOf({ 'train.py': train, 'data.py': 'import json\nrows = []\n' })).toEqual([]);
  });

  it('hints at a GPU for a deep network without one, and the job stays valid', async () => {
    expect(await findingsOf({ 'train.py': network }, TORCH)).toEqual([expect.stringMatching(/^hints GPU_ADVISED/)]);
    const { code, stdout } = await runCli(['jobs', 'validate', 'job.yaml', '--package=p'], { cwd: work });
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^ {2}hint GPU_ADVISED: The sources train a deep network/m),
    ]);
  });

  it('says nothing of modules if the runtime or the container is not one of the default ones', async () => {
    const files = { 'train.py': 'import sklearn\n', 'requirements.txt': 'numpy==1.19.5\n' };
    expect(await findingsOf(files, 'runtime: own-1\n')).toEqual([]);
    expect(await findingsOf(files, 'image: ghcr.io/o/digits:1\n')).toEqual([]);
  });
});
