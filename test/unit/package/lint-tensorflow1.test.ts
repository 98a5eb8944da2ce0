import { describe, expect, it } from 'vitest';
import { lint, reportOf, verdictOf } from '../../support/package/lint-subject.ts';

const IMPORT = 'import tensorflow as tf\n';
const taskOf = (code: string) => ({ 'trainer/task.py': code });

describe('TENSORFLOW_1', () => {
  it.each([
    ['from tensorflow.contrib import slim\n'],
    ['from tensorflow import contrib\n'],
    ['import tensorflow.contrib.learn as learn\n'],
    [`${IMPORT}flags = tf.app.flags\n`],
    [`${IMPORT}class Model(tf.layers.Layer):\n  pass\n`],
    [`${IMPORT}with tf.Session() as session:\n  pass\n`],
    [`${IMPORT}def f():\n  pass\n\nif __name__ == '__main__':\n\n    args = f()\n    tf.logging.set_verbosity(args)\n`],
  ])('is an error in the program for a statement that is always executed: %j', async (code) => {
    expect(await verdictOf(taskOf(code))).toEqual(['ERROR TENSORFLOW_1']);
    expect(await verdictOf({ 'trainer/model.py': code })).toEqual(['WARNING TENSORFLOW_1']);
    expect(await verdictOf(taskOf(code), { pythonVersion: null })).toEqual(['WARNING TENSORFLOW_1']);
    expect(await verdictOf(taskOf(code), { pythonVersion: '3.7' })).toEqual(['WARNING TENSORFLOW_1']);
  });

  it.each([
    [`${IMPORT}def f():\n  return tf.placeholder(tf.float32)\n`],
    [`${IMPORT}if old:\n  tf.train.AdamOptimizer(1)\n`],
    [`${IMPORT}if __name__ == '__main__':\n  if old:\n    tf.Session()\n`],
    [`${IMPORT}if __name__ == '__main__':\n  f()\ndef f():\n  tf.Session()\n`],
    [`${IMPORT}f = lambda: tf.get_variable("a")\n`],
    ['try:\n  from tensorflow.contrib import slim\nexcept ImportError:\n  slim = None\n'],
  ])('is a warning for a statement that may not be executed: %j', async (code) => {
    expect(await verdictOf(taskOf(code))).toEqual(['WARNING TENSORFLOW_1']);
  });

  it.each([
    ['import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntf.Session()\n'],
    ['from tensorflow.compat import v1 as tf\ntf.placeholder(tf.float32)\n'],
    [`${IMPORT}tf.compat.v1.Session()\n`],
    [`${IMPORT}if hasattr(tf, "Session"):\n  tf.Session()\n`],
    [`${IMPORT}tf.Session = object\ntf.Session()\n`],
    [`${IMPORT}# tf.Session()\nprint("tf.contrib")\n`],
    [`${IMPORT}tf.io.gfile.exists("a")\ntf.random.normal([1])\ntf.train.Checkpoint()\ntf.summary.scalar("a", 1, 1)\n`],
    [`${IMPORT}tf.keras.layers.Dense(1)\ntf.math.log(1.0)\ntf.data.Dataset.range(1)\ntf.nn.relu(1)\n`],
    ['from mine import tf\ntf.Session()\n'],
  ])('is not reported for %j', async (code) => {
    expect(await verdictOf(taskOf(code))).toEqual([]);
  });

  it('is one finding for all files, without tests', async () => {
    const old = `${IMPORT}tf.Session()\n`;
    const files = { 'trainer/a.py': old, 'trainer/b.py': old, 'trainer/c.py': old, 'trainer/d_test.py': old };
    const { warnings } = lint([await reportOf({ ...taskOf(old), ...files })], { pythonVersion: null });
    const message = expect.stringContaining('trainer/b.py (line 2) and 1 more files use tf.Session');
    expect(warnings).toMatchObject([{ message, path: 'trainer-1.0/trainer/task.py' }]);
  });

  it('names the lines and what to do', async () => {
    const sessions = `${IMPORT}\nx = tf.placeholder(tf.float32)\ns = tf.Session()\ntf.app.run()\ntf.app.run()\n`;
    const [own] = lint([await reportOf(taskOf(sessions))]).problems;
    expect(own).toMatchObject({
      message: expect.stringMatching(
        /^\S+trainer\/task\.py \(lines 3, 4, 5 and 1 more\) uses tf\.placeholder, tf\.Session and tf\.app, which/,
      ),
      remedy: expect.stringContaining('tensorflow.compat.v1'),
      line: 3,
    });
    const [contrib] = lint([await reportOf(taskOf('from tensorflow.contrib import slim\n'))]).problems;
    expect(contrib?.remedy).toContain('tf_slim');
  });
});
