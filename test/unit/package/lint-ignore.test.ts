import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPackageCheck, PACKAGE_CHECKS } from '#shared/package/lint/package-checks.ts';
import { type Files, lint, reportOf, setupOf, verdictOf } from '../../support/package/lint-subject.ts';

const KEY = ['-----BEGIN', 'PRIVATE KEY-----\n'].join(' ') + 'q7RkT2vN9xLm4Zb8'.repeat(8);
const ignoring = (...names: readonly string[]): Files => ({
  'pyproject.toml': `[tool.dropforge]\nignore = ${JSON.stringify(names)}\n`,
});

describe('disabling a check', () => {
  it('skips only the named checks', async () => {
    const files = { ...setupOf('tensorflow-cpu', 'python>=3'), 'key.pem': KEY };
    const [cpu, key, broken] = ['CPU_ONLY_BUILD', 'CREDENTIALS_IN_PACKAGE', 'BROKEN_REQUIREMENT'];
    expect(await verdictOf(files)).toEqual([`ERROR ${cpu}`, `ERROR ${key}`, `WARNING ${broken}`]);
    expect(await verdictOf(files, { disabledChecks: [cpu] })).toEqual([`ERROR ${key}`, `WARNING ${broken}`]);
    expect(await verdictOf(files, { disabledChecks: [cpu, key, broken] })).toEqual([]);
    expect(await verdictOf({ ...files, ...ignoring(cpu, broken) })).toEqual([`ERROR ${key}`]);
    expect(await verdictOf({ ...files, ...ignoring(cpu, broken, key) })).toEqual([]);
  });

  it('has no wildcard', async () => {
    expect(await verdictOf({ 'key.pem': KEY }, { disabledChecks: ['*', 'ALL', ''] })).toEqual([
      'ERROR CREDENTIALS_IN_PACKAGE',
    ]);
  });

  it('warns about an unknown code and suggests a similar one', async () => {
    const { problems, warnings } = lint([
      await reportOf({ ...setupOf('tensorflow-cpu'), ...ignoring('CPU_ONLY_BUILT') }),
    ]);
    expect(problems).toMatchObject([{ code: 'CPU_ONLY_BUILD' }]);
    expect(warnings).toMatchObject([
      { code: 'UNKNOWN_CHECK', remedy: expect.stringContaining('Did you mean "CPU_ONLY_BUILD"?') },
    ]);
  });

  it('explains in every remedy how to disable the check', async () => {
    const { problems } = lint([await reportOf({ 'key.pem': KEY })]);
    expect(problems[0]?.remedy).toContain('ignore = ["CREDENTIALS_IN_PACKAGE"] under [tool.dropforge]');
  });

  it('rejects an invalid list of checks', async () => {
    const { problems } = await reportOf({ 'pyproject.toml': '[tool.dropforge]\nignore = "CPU_ONLY_BUILD"\n' });
    expect(problems).toMatchObject([{ code: 'PYPROJECT_INVALID' }]);
  });

  it('describes every check in a sentence', () => {
    for (const [code, sentence] of Object.entries(PACKAGE_CHECKS)) {
      expect([isPackageCheck(code), sentence.endsWith('.')]).toEqual([true, true]);
    }
    expect(isPackageCheck('toString')).toBe(false);
  });
});

describe('lint checks (property)', () => {
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

  it('never throw for any files and requirements', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (source, requirement) => {
        const report = await reportOf({
          'trainer/task.py': source,
          'key.json': source,
          'requirements.txt': requirement,
        });
        const inspected = { ...report, problems: [], requirements: [requirement, source], requiresPython: requirement };
        const { problems, warnings } = lint([inspected]);
        expect(problems.length + warnings.length).toBeLessThan(60);
      }),
    );
  });

  it('exclude packages with problems', async () => {
    const report = await reportOf({ ...setupOf('tensorflow-cpu'), 'job.yaml': 'a: 1' });
    const broken = { ...report, problems: [{ code: 'ARCHIVE_CORRUPT', message: '', remedy: '' }] };
    expect(lint([report]).problems).toHaveLength(1);
    expect(lint([broken])).toEqual({ problems: [], warnings: [], hints: [] });
  });
});
