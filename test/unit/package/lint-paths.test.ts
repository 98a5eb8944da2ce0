import { describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { findRelativePaths } from '#shared/package/scan/relative-paths.ts';
import { sourceOf, tarGzOf } from '../../support/package/build-archives.ts';
import { type Files, lint, reportOf } from '../../support/package/lint-subject.ts';

/** A package of scripts without a build file, which run in its root. */
async function warningsOf(files: Files, module: string) {
  const all = { 'data/labels.csv': '1', 'models/gan/sizes.yaml': '1', ...files };
  const entries = Object.entries(all).map(([path, data]) => ({ path: `trainer-1.0/${path}`, data }));
  const report = await inspectPackage(sourceOf('trainer-1.0.tar.gz', tarGzOf(entries)));
  return lint([report], { module }).warnings;
}

describe('PATH_FROM_SCRIPT', () => {
  it('names the path, its line and the folder to set, for a script of a subfolder', async () => {
    const script = 'import os\nfor name in os.listdir("../../data"):\n    print(name)\n';
    expect(await warningsOf({ 'models/gan/gan.py': script }, 'models/gan/gan.py')).toMatchObject([
      {
        code: 'PATH_FROM_SCRIPT',
        path: 'trainer-1.0/models/gan/gan.py',
        line: 2,
        message:
          'trainer-1.0/models/gan/gan.py, line 2, names "../../data", which exists from the folder of this file only; the program starts in the root of the package.',
        remedy: expect.stringMatching(/^Add "workdir: models\/gan" to the job file /),
      },
    ]);
  });

  it.each(['"../../data/%s" % name', "f'../../data/{name}.csv'", '"../../data/*.csv"'])(
    'is reported for a template: open(%s)',
    async (text) => {
      const warnings = await warningsOf({ 'models/gan/gan.py': `open(${text})\n` }, 'models/gan/gan.py');
      expect(warnings).toMatchObject([{ code: 'PATH_FROM_SCRIPT' }]);
    },
  );

  it('is reported for a file beside a module, but not beside a script, where the agent links it', async () => {
    const files = { 'models/gan/gan.py': 'print(open("sizes.yaml").read())\n' };
    expect(await warningsOf(files, 'models.gan.gan')).toMatchObject([{ code: 'PATH_FROM_SCRIPT', line: 1 }]);
    expect(await warningsOf(files, 'models/gan/gan.py')).toEqual([]);
  });

  it.each([
    ['a path that exists nowhere in the package', 'open("../../checkpoints/a.pt")'],
    ['a path that is right from the root', 'open("data/labels.csv")'],
    ['a path from the file itself', 'open(os.path.join(os.path.dirname(__file__), "../../data/labels.csv"))'],
    ['a path that continues another', 'open(os.path.join(HERE, "../../data/labels.csv"))'],
    ['the import path', 'sys.path.append("../../models")'],
    ['a program that changes its folder', 'os.chdir(HERE)\nopen("../../data/labels.csv")'],
    [
      'a folder that is known elsewhere',
      'HERE = Path(__file__).parent\nopen(HERE / DATA)\nDATA = "../../data/labels.csv"',
    ],
    ['a path of a library', '@hydra.main(config_path="../../data", config_name="labels")'],
    ['a resource', 'importlib.resources.files("gan").joinpath("../../data/labels.csv")'],
    ['documentation', 'def f():\n    """Reads.\n\n    f(path="../../data")\n    """\n'],
    ['a comment', '# open("../../data/labels.csv")'],
  ])('is not reported for %s', async (_, script) => {
    expect(await warningsOf({ 'models/gan/gan.py': script }, 'models/gan/gan.py')).toEqual([]);
  });

  it('shows no control characters of a path', async () => {
    const script = 'open("../../\u001b[2J\u202e/../data/labels.csv")\n';
    const [warning] = await warningsOf({ 'models/gan/gan.py': script }, 'models/gan/gan.py');
    expect(warning?.message).toContain('\\u{1b}[2J\\u{202e}');
  });

  it('is not reported for an installed module, which has no folder', async () => {
    const files = { 'data/labels.csv': '1', 'trainer/task.py': 'open("../data/labels.csv")\n' };
    expect(lint([await reportOf(files)]).warnings).toEqual([]);
  });

  it('keeps a bounded number of paths of a source', () => {
    expect(findRelativePaths(`open(${'"../a'.repeat(20_000)}\n${'("../'.repeat(20_000)}`)).toHaveLength(20);
  });
});
