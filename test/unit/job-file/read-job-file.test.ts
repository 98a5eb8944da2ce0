import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FINDINGS_COUNT_MAX } from '#shared/job-file/parser/findings.ts';
import { JOB_FILE_BYTES_MAX } from '#shared/job-file/parser/parse-source.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const FILE = { fileName: 'job.yaml' };

function codesOf(source: string | Uint8Array): readonly string[] {
  return readJobFile(source, FILE).problems.map(({ code }) => code);
}

describe('reading a job file', () => {
  it.each([
    ['more than a mebibyte', `jobId: a\n${'#'.repeat(JOB_FILE_BYTES_MAX)}`, 'FILE_TOO_LARGE'],
    ['half a million opening brackets', '['.repeat(500_000), 'TOO_MANY_VALUES'],
    ['a thousand nested lists', `a: ${'['.repeat(1_000)}${']'.repeat(1_000)}`, 'TOO_DEEP'],
    ['forty nested lists', `a: ${'['.repeat(40)}${']'.repeat(40)}`, 'TOO_DEEP'],
    ['a million closing brackets', '}'.repeat(1_000_000), 'TOO_MANY_VALUES'],
    ['a hundred thousand documents', '---\n'.repeat(100_000), 'TOO_MANY_VALUES'],
    ['a list as a name', '[a, b]: 1\njobId: c', 'NOT_YAML'],
    ['a tag of another program', 'jobId: !env NAME', 'NOT_YAML'],
    ['control bytes', new Uint8Array([0x1f, 0x8b, 0x08, 0xff, 0xfe]), 'NOT_TEXT'],
    ['a single text', 'hello', 'NOT_A_JOB_FILE'],
    ['a field of no format', 'BASIC: {}', 'NOT_A_JOB_FILE'],
  ])('rejects %s', (_, source, code) => {
    expect(codesOf(source)).toContain(code);
    expect(readJobFile(source, FILE).draft === null || codesOf(source).length > 0).toBe(true);
  });

  it('names the fields that identify a job file of a package and of a container', () => {
    const [problem] = readJobFile('env: { A: b }', FILE).problems;
    expect(problem?.remedy).toMatch(/^Write module: .* or image: /);
  });

  it('says what takes the place of an entry point, of a package and of a container', () => {
    const [problem] = readJobFile('image: a/b:1\nentrypoint: [python]', FILE).problems;
    expect(problem).toMatchObject({ code: 'UNKNOWN_FIELD', remedy: 'Write module, or image and command.' });
  });

  it.each([
    ['python', /start the line with "- "/],
    ['python train.py', /an item for each word/],
  ])('treats the text "%s" as a list of one, and says how to write the list', (text, remedy) => {
    const { warnings } = readJobFile(`trainingInput: {masterConfig: {containerCommand: ${text}}}`, FILE);
    expect(warnings).toMatchObject([{ code: 'LIST_OF_ONE', remedy: expect.stringMatching(remedy) }]);
  });

  it('accepts a mebibyte of comments', () => {
    const source = `jobId: a\n#${'x'.repeat(JOB_FILE_BYTES_MAX - 10)}`;
    expect(readJobFile(source, FILE)).toMatchObject({ problems: [], draft: { jobId: { value: 'a', line: 1 } } });
  });

  it('lists a bounded number of findings and reports that there are more', () => {
    const fields = Array.from({ length: 3_000 }, (_, index) => `  field${index}: 1`).join('\n');
    const { problems } = readJobFile(`trainingInput:\n${fields}`, FILE);
    expect(problems).toHaveLength(FINDINGS_COUNT_MAX + 1);
    expect(problems.at(-1)).toMatchObject({ code: 'TOO_MANY_FINDINGS' });
  });

  it.each([
    ['2', 2],
    ['"2"', 2],
    ['2.0', 2],
    ['1e1', 10],
    ['-0', 0],
  ])('reads the count %s', (text, value) => {
    const { draft, problems } = readJobFile(`trainingInput: {workerCount: ${text}}`, FILE);
    expect({ problems, count: draft?.pools[1]?.count?.value }).toEqual({ problems: [], count: value });
  });

  it.each(['2.5', '1e99', '99999999999999999999', '0x10', 'two'])('rejects the count %s', (text) => {
    expect(codesOf(`trainingInput: {workerCount: ${text}}`)).toEqual(['WRONG_TYPE']);
  });

  it('truncates long values in findings and escapes control characters', () => {
    const [long] = readJobFile(`trainingInput: {workerCount: ${'9'.repeat(900_000)}}`, FILE).problems;
    expect(JSON.stringify(long).length).toBeLessThan(5_000);
    const [odd] = readJobFile('trainingInput: {workerCount: "\\e[31m\\n\\u202e"}', FILE).problems;
    expect(odd?.message).toContain('"\\u{1b}[31m\\n\\u{202e}"');
  });

  it('names the mapping that a misplaced field belongs to', () => {
    const [problem] = readJobFile('trainingInput:\n  scheduling:\n    pythonModule: a\n', FILE).problems;
    expect(problem).toMatchObject({
      path: 'trainingInput.scheduling.pythonModule',
      line: 3,
      remedy: expect.stringContaining('under trainingInput:'),
    });
  });

  it('treats default values as absent, also in unsupported fields', () => {
    const source =
      'trainingInput: {workerCount: "0", hyperparameters: {}, network: "", enableWebAccess: false, nasJobSpec: null}';
    const { draft } = readJobFile(source, FILE);
    expect(draft && checkJob(draft, CONTEXT).unsupported).toEqual([]);
  });

  it('does not accept a draft with problems', () => {
    const source =
      'jobId: a\ntrainingInput: {scaleTier: BASIC, pythonModule: a.b, packageUris: [x.zip], workerCount: 2}';
    const { draft } = readJobFile(source, FILE);
    expect(draft && checkJob(draft, CONTEXT)).toMatchObject({ spec: null, problems: [{ code: 'TIER_NOT_CUSTOM' }] });
  });

  it('handles names of Object.prototype as unknown fields', () => {
    const source = 'jobId: a\nconstructor: 1\n__proto__: {x: 1}\nlabels: {__proto__: x}\ntrainingInput: {toString: 1}';
    expect(codesOf(source)).toEqual(['UNKNOWN_FIELD', 'UNKNOWN_FIELD', 'UNKNOWN_FIELD']);
  });
});

describe('reading any file', () => {
  const words = [
    'jobId',
    'trainingInput',
    'scaleTier',
    'CUSTOM',
    'masterType',
    'n1-standard-4',
    'args',
    'region',
    'scheduling',
    '<<',
    '__proto__',
  ];
  const signs = [
    ':',
    ': ',
    '\n',
    '\n  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '&a ',
    '*a',
    '!t ',
    '|',
    '>',
    '#',
    ',',
    '? ',
    '%',
    '\t',
    '\0',
    '---\n',
    '\uFEFF',
  ];
  const soup = fc.array(fc.constantFrom(...words, ...signs), { maxLength: 60 }).map((parts) => parts.join(''));

  it('never throws, and never accepts a job with problems', () => {
    const source = fc.oneof(soup, fc.string({ unit: 'binary', maxLength: 200 }), fc.uint8Array({ maxLength: 200 }));
    const property = fc.property(source, (text) => {
      const { draft, problems } = readJobFile(text, FILE);
      expect(draft !== null || problems.length > 0).toBe(true);
      const check = draft && checkJob(draft, CONTEXT);
      expect(check === null || check.spec === null || check.problems.length === 0).toBe(true);
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  it('never throws on mappings of known fields with any values', () => {
    const field = fc.constantFrom(
      'jobId',
      'labels',
      'trainingInput',
      'args',
      'packageUris',
      'masterConfig',
      'acceleratorConfig',
      'count',
      'scheduling',
      'maxRunningTime',
      'region',
      'jobDir',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('tree'), { maxLength: 2 }),
        fc.dictionary(field, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    const property = fc.property(fc.dictionary(field, tree, { maxKeys: 5 }), (value) => {
      const { draft, problems } = readJobFile(JSON.stringify(value), FILE);
      expect(draft !== null || problems.length > 0).toBe(true);
      expect(() => draft && checkJob(draft, CONTEXT)).not.toThrow();
    });
    fc.assert(property, { numRuns: 500 });
  });
});
