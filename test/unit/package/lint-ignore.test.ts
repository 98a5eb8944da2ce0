import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPackageCheck, PACKAGE_CHECKS } from '#shared/package/lint/package-checks.ts';
import { adviseOn, type Files, reportOf, setupOf, verdictOf } from '../../support/package/lint-subject.ts';

const KEY = ['-----BEGIN', 'PRIVATE KEY-----\n'].join(' ') + 'q7RkT2vN9xLm4Zb8'.repeat(8);
const ignoring = (...names: readonly string[]): Files => ({
  'pyproject.toml': `[tool.dropforge]\nignore = ${JSON.stringify(names)}\n`,
});

describe('silencing a check', () => {
  it('passes over the checks that are named, and no others', async () => {
    const files = { ...setupOf('tensorflow-cpu', 'python>=3'), 'key.pem': KEY };
    const [cpu, key, broken] = ['CPU_ONLY_BUILD', 'CREDENTIALS_IN_PACKAGE', 'BROKEN_REQUIREMENT'];
    expect(await verdictOf(files)).toEqual([`ERROR ${cpu}`, `ERROR ${key}`, `WARNING ${broken}`]);
    expect(await verdictOf(files, { silenced: [cpu] })).toEqual([`ERROR ${key}`, `WARNING ${broken}`]);
    expect(await verdictOf(files, { silenced: [cpu, key, broken] })).toEqual([]);
    expect(await verdictOf({ ...files, ...ignoring(cpu, broken) })).toEqual([`ERROR ${key}`]);
    expect(await verdictOf({ ...files, ...ignoring(cpu, broken, key) })).toEqual([]);
  });

  it('knows no word for all', async () => {
    expect(await verdictOf({ 'key.pem': KEY }, { silenced: ['*', 'ALL', ''] })).toEqual([
      'ERROR CREDENTIALS_IN_PACKAGE',
    ]);
  });

  it('warns of a name that is no check, with the nearest', async () => {
    const { problems, warnings } = adviseOn([
      await reportOf({ ...setupOf('tensorflow-cpu'), ...ignoring('CPU_ONLY_BUILT') }),
    ]);
    expect(problems).toMatchObject([{ code: 'CPU_ONLY_BUILD' }]);
    expect(warnings).toMatchObject([
      { code: 'UNKNOWN_CHECK', remedy: expect.stringContaining('Did you mean "CPU_ONLY_BUILD"?') },
    ]);
  });

  it('says with every finding how to pass over it', async () => {
    const { problems } = adviseOn([await reportOf({ 'key.pem': KEY })]);
    expect(problems[0]?.remedy).toContain('ignore = ["CREDENTIALS_IN_PACKAGE"] under [tool.dropforge]');
  });

  it('refuses a list of checks that is none', async () => {
    const { problems } = await reportOf({ 'pyproject.toml': '[tool.dropforge]\nignore = "CPU_ONLY_BUILD"\n' });
    expect(problems).toMatchObject([{ code: 'PYPROJECT_INVALID' }]);
  });

  it('lists every check with a sentence', () => {
    for (const [code, sentence] of Object.entries(PACKAGE_CHECKS)) {
      expect([isPackageCheck(code), sentence.endsWith('.')]).toEqual([true, true]);
    }
    expect(isPackageCheck('toString')).toBe(false);
  });
});

describe('advice on anything', () => {
  const word = fc.constantFrom(
    'print ',
    '"',
    "'",
    '"""',
    '#',
    '\n',
    '(',
    '\\',
    'torch',
    'import ',
    '==',
    '+cpu',
    '; ',
    '@',
    'é',
  );
  const text = fc.array(fc.oneof(word, fc.string({ maxLength: 4 })), { maxLength: 40 }).map((parts) => parts.join(''));

  it('never throws, whatever files and requirements hold', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (source, requirement) => {
        const report = await reportOf({
          'trainer/task.py': source,
          'key.json': source,
          'requirements.txt': requirement,
        });
        const asked = { ...report, problems: [], requirements: [requirement, source], requiresPython: requirement };
        const { problems, warnings } = adviseOn([asked]);
        expect(problems.length + warnings.length).toBeLessThan(60);
      }),
    );
  });

  it('leaves a package out that has problems', async () => {
    const report = await reportOf({ ...setupOf('tensorflow-cpu'), 'job.yaml': 'a: 1' });
    const broken = { ...report, problems: [{ code: 'ARCHIVE_CORRUPT', message: '', remedy: '' }] };
    expect(adviseOn([report]).problems).toHaveLength(1);
    expect(adviseOn([broken])).toEqual({ problems: [], warnings: [] });
  });
});
