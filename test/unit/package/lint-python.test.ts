import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf, zipOf } from '../../support/package/build-archives.ts';
import { lint, reportOf, verdictOf } from '../../support/package/lint-subject.ts';

const limited = (limit: string) => ({ 'setup.py': `setup(name='trainer', python_requires=${JSON.stringify(limit)})` });

/** A wheel of `trainer.task` for these tags. */
async function wheelFor(tags: readonly string[], python: string) {
  const info = 'trainer-1.0.dist-info';
  const files = [
    { path: 'trainer/__init__.py', data: '' },
    { path: 'trainer/task.py', data: '' },
    { path: `${info}/METADATA`, data: 'Name: trainer\nVersion: 1.0\n' },
    { path: `${info}/WHEEL`, data: `Wheel-Version: 1.0\n${tags.map((tag) => `Tag: ${tag}\n`).join('')}` },
  ];
  const record = [...files.map(({ path }) => `${path},,`), `${info}/RECORD,,`].join('\n');
  const bytes = zipOf([...files, { path: `${info}/RECORD`, data: record }]);
  return await inspectPackage(sourceOf(`trainer-1.0-${python}-none-any.whl`, bytes));
}

describe('PYTHON_LIMIT', () => {
  it.each([
    ['>=3.11'],
    ['<3.10'],
    ['>=3.6,<3.8'],
    ['==3.8.*'],
    ['~=3.8.2'],
    ['!=3.10.*'],
    ['>=3.6, <3.9, oddly'],
    ['>3.12'],
  ])('is an error: %s on 3.10', async (limit) => {
    expect(await verdictOf(limited(limit))).toEqual(['ERROR PYTHON_LIMIT']);
  });

  it.each([['<=3.10'], ['==3.10']])('is a warning if only patch release 0 matches: %s', async (limit) => {
    expect(await verdictOf(limited(limit))).toEqual(['WARNING PYTHON_LIMIT']);
    expect(await verdictOf(limited(limit), { pythonVersion: '3.10.12' })).toEqual(['ERROR PYTHON_LIMIT']);
  });

  it.each([
    ['>=3.6'],
    ['~=3.8'],
    ['>=3.10.4'],
    ['==3.10.*'],
    ['!=3.10.2'],
    ['>=3.9,<4'],
    ['^3.9'],
    ['>=2.7, !=3.0.*'],
    [''],
  ])('is not reported: %s on 3.10', async (limit) => {
    expect(await verdictOf(limited(limit))).toEqual([]);
  });

  it('is not reported if the Python version of the image is unknown', async () => {
    expect(await verdictOf(limited('<3'), { pythonVersion: null })).toEqual([]);
  });

  it.each([
    ['cp38', ['cp38-cp38-linux_x86_64']],
    ['cp311', ['cp311-abi3-linux_x86_64']],
    ['py2', ['py2-none-any']],
    ['pp310', ['pp310-pypy310_pp73-linux_x86_64']],
  ])('is an error: a wheel for %s on 3.10', async (python, tags) => {
    expect(lint([await wheelFor(tags, python)]).problems).toMatchObject([{ code: 'PYTHON_LIMIT' }]);
  });

  it.each([
    ['cp310', ['cp310-cp310-linux_x86_64']],
    ['cp38', ['cp38-abi3-linux_x86_64']],
    ['py2.py3', ['py2-none-any', 'py3-none-any']],
    ['py3', ['py2.py3-none-any']],
    ['py39', ['py39-none-any']],
  ])('is not reported: a wheel for %s on 3.10', async (python, tags) => {
    expect(lint([await wheelFor(tags, python)]).problems).toEqual([]);
  });
});

describe('PYTHON_2_ONLY', () => {
  it.each([
    ['print "building"'],
    ["print 'building'"],
    ['x = 1\nif x:\n    print x'],
    ['raise ValueError, "no"'],
    ["exec 'x = 1'"],
    ['"""docs\nprint it\n"""\nprint "x" % 1'],
  ])('is an error in setup.py: %j', async (statement) => {
    const script = `${statement}\nsetup(name='trainer', packages=['trainer'])`;
    expect(await verdictOf({ 'setup.py': script })).toEqual(['ERROR PYTHON_2_ONLY']);
  });

  it.each([
    ['print("x")'],
    ['print ("x")'],
    ['print'],
    ['"""\nprint "x"\n"""'],
    ['# print "x"'],
    ["x = '''\nprint 'x'\n'''"],
    ['f(\n  print if x else y\n)'],
    ['x = [\n print\n]'],
    ['x = 1 + \\\nprint if y else z'],
    ['print if x else y'],
    ['print in names'],
    ['print >>sys.stderr, "x"'],
    ['raise ValueError("a, b")'],
    ['raise E, '.replace(',', '')],
  ])('is not reported for %j', async (statement) => {
    const script = `${statement}\nsetup(name='trainer', packages=['trainer'])`;
    expect(await verdictOf({ 'setup.py': script })).toEqual([]);
  });

  it('is a warning in the module to run, with its line, and is not reported in other modules', async () => {
    const files = { 'trainer/task.py': '"""\nDocs.\n"""\nprint "x"\n', 'trainer/old.py': 'print "x"\n' };
    expect(lint([await reportOf(files)])).toMatchObject({
      problems: [],
      warnings: [{ code: 'PYTHON_2_ONLY', path: 'trainer-1.0/trainer/task.py', line: 4 }],
    });
  });

  it('is a warning in a setup.py next to a pyproject.toml', async () => {
    const files = { 'setup.py': 'print "x"', 'pyproject.toml': '[build-system]\nbuild-backend = "hatchling.build"\n' };
    expect(await verdictOf(files)).toEqual(['WARNING PYTHON_2_ONLY']);
  });

  it('is not reported in a setup.py of a subdirectory', async () => {
    expect(await verdictOf({ 'trainer/vendored/setup.py': 'print "x"' })).toEqual([]);
  });
});
