import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import type { Tensorflow1Use } from '#shared/package/scan/tensorflow1.ts';

/** The newest Python with TensorFlow 1 (pypi.org/project/tensorflow: 1.15.5 has wheels up to Python 3.7). */
const PYTHON_MINOR_MAX = 7;

/** Tests are not part of the program. */
const TEST_FILE = /(?:^|\/)(?:tests?\/|test_[^/]*$)|_test\.py$/;

const SHOWN_COUNT_MAX = 3;

/**
 * TENSORFLOW_1: a source uses what TensorFlow 2 does not have (tf.contrib, tf.Session, tf.placeholder), and neither
 * tf.compat.v1 nor a check of the version.
 * - Error if a statement of the program's own file that is always executed does so, and the Python version of the
 *   machine image is known: then no TensorFlow 1 can be installed, and the program ends there.
 * - Warning otherwise: the program may not reach the line, and an image may have another TensorFlow.
 */
export function checkTensorflow1({ packages, program, pythonVersion }: LintSubject): LintFinding[] {
  const uses = packages.flatMap(({ evidence, programPathOf }) => {
    const file = programPathOf(program.module);
    return evidence.tensorflow1.map(({ path, use }) => ({ path, use, isProgram: path === file }));
  });
  const found = uses
    .filter(({ path }) => !TEST_FILE.test(path))
    .sort((a, b) => Number(b.isProgram) - Number(a.isProgram));
  const [first] = found;
  if (first === undefined) {
    return [];
  }
  const isCertain = first.isProgram && first.use.alwaysFails && lacksTensorflow1(pythonVersion);
  const names = [...new Set(found.flatMap(({ use }) => use.names))].slice(0, SHOWN_COUNT_MAX);
  const places = found.slice(0, SHOWN_COUNT_MAX).map(({ path, use }) => `${path} (${describeLines(use)})`);
  const more = found.length > places.length ? [`${found.length - places.length} more files`] : [];
  return [
    {
      code: 'TENSORFLOW_1',
      severity: isCertain ? 'ERROR' : 'WARNING',
      message: `${joinNames([...places, ...more])} use${found.length === 1 ? 's' : ''} ${joinNames(names)}, which TensorFlow 2 does not have; no runtime has TensorFlow 1.`,
      remedy: remedyOf(found.some(({ use }) => use.isContrib)),
      path: first.path,
      line: first.use.lines[0],
    },
  ];
}

function lacksTensorflow1(pythonVersion: string | null): boolean {
  const [major = 0, minor = 0] = (pythonVersion ?? '').split('.').map(Number);
  return major > 3 || (major === 3 && minor > PYTHON_MINOR_MAX);
}

function describeLines({ lines, lineCount }: Tensorflow1Use): string {
  const more = lineCount > lines.length ? [`${lineCount - lines.length} more`] : [];
  return `line${lineCount > 1 ? 's' : ''} ${joinNames([...lines.map(String), ...more])}`;
}

function joinNames(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function remedyOf(isContrib: boolean): string {
  const convert =
    'Convert the code with `tf_upgrade_v2 --intree DIRECTORY --outtree DIRECTORY_V2`, which TensorFlow 2 installs';
  return isContrib
    ? `${convert}; it names each use of tf.contrib that needs another library, such as tf_slim or tf_keras.`
    : `Write \`import tensorflow.compat.v1 as tf\` and \`tf.disable_v2_behavior()\` in place of \`import tensorflow as tf\`. Or: ${convert}.`;
}
