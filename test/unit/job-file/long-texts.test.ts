import { describe, expect, it } from 'vitest';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const LENGTH = 1_000_000;

const blanks = ' '.repeat(LENGTH);
const search = 'trainingInput: {hyperparameters: {params: [{parameterName: p, type: DOUBLE, minValue: ';

/** Regression tests: patterns that backtrack from every character once took quadratic time, minutes or hours. */
describe('a text of a million characters is validated in linear time', () => {
  it.each([
    ['GPUs with blanks in their name', `module: t\ngpu: "T4${blanks}x"`, 'UNKNOWN_ACCELERATOR'],
    ['GPUs with trailing blanks', `module: t\ngpu: "T4${blanks}"`, 'UNKNOWN_ACCELERATOR'],
    ['a duration with blanks', `module: t\nmaxRuntime: "1d${blanks}x"`, 'INVALID_DURATION'],
    ['a duration of digits', `module: t\nmaxRuntime: "${'1'.repeat(LENGTH)}"`, 'INVALID_DURATION'],
    ['a bound of digits', `${search}"${'1'.repeat(LENGTH)}x"}]}}`, 'WRONG_TYPE'],
    ['a path of parent directories', `module: t\npackages: ["${'../'.repeat(LENGTH / 3)}"]`, 'INVALID_PACKAGE_URI'],
    [
      'a path of directories and their parents',
      `module: t\npackages: ["${'a/../'.repeat(LENGTH / 5)}"]`,
      'INVALID_PACKAGE_URI',
    ],
    ['a module of slashes', `module: "${'/'.repeat(LENGTH)}!"`, 'INVALID_PYTHON_MODULE'],
    ['an image of dots', `image: "${'a.'.repeat(LENGTH / 2)}/x"`, 'INVALID_IMAGE_URI'],
    ['an account of dots', `module: t\nserviceAccount: "${'a.'.repeat(LENGTH / 2)}@x"`, 'INVALID_SERVICE_ACCOUNT'],
    ['an unclosed placeholder', `module: t\nregion: "${'${'.repeat(LENGTH / 2)}"`, 'UNKNOWN_REGION'],
    ['a command of blanks', `module: t\ncommand: "a${blanks}b"`, 'WRONG_TYPE'],
  ])('%s', (_, source, code) => {
    const { errors } = validateJobFile(source, { fileName: 'job.yaml', context: CONTEXT });
    expect(errors.map((error) => error.code)).toContain(code);
  });
});
