import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const EXAMPLE_DIR = fileURLToPath(new URL('../../examples/digits', import.meta.url));
const PROCESS = { timeout: 60_000 };

// Plain Python needs no installation, and is slow enough to be interrupted.
const TRAIN = ['-m', 'trainer.task', '--engine', 'python'];

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'digits-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn('python3', args, { cwd: EXAMPLE_DIR, env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env } });
}

async function finish(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = start(args, env);
  child.stdin.end();
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, stderr, code };
}

/** Trains until a line of the output matches, then sends SIGTERM; returns the exit code. */
async function interruptAt(line: RegExp, args: readonly string[]): Promise<number> {
  const child = start(args);
  const exited = once(child, 'exit');
  for await (const written of createInterface(child.stdout)) {
    if (line.test(written)) {
      child.kill('SIGTERM');
    }
  }
  const [code] = await exited;
  return code;
}

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

describe('the digits trainer', () => {
  it(
    'reaches 94 % test accuracy, reports every epoch and exports a model that recognizes digits',
    PROCESS,
    async () => {
      const jobDir = join(root, 'trained');
      const metricsFile = join(root, 'metrics.jsonl');
      const { code, stdout } = await finish([...TRAIN, '--job-dir', jobDir, '--epochs', '8'], {
        DROPFORGE_METRICS_FILE: metricsFile,
      });
      expect(code).toBe(0);
      expect(stdout.match(/^epoch \d+\/8 {2}loss/gm)).toHaveLength(8);

      const reported = (await readFile(metricsFile, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(reported.map(({ step, steps }) => [step, steps])).toEqual(Array.from({ length: 8 }, (_, i) => [i + 1, 8]));
      expect(reported[7].loss).toBeLessThan(reported[0].loss);

      const { accuracy, loss, epochs } = await readJson(join(jobDir, 'metrics.json'));
      expect(epochs).toBe(8);
      expect(accuracy).toBeGreaterThanOrEqual(0.94);
      expect({ accuracy, loss }).toEqual({ accuracy: reported[7].accuracy, loss: reported[7].loss });
      expect((await readJson(join(jobDir, 'metrics.json'))).test_accuracy).toBe(accuracy);

      const sample = await finish(['-m', 'trainer.predict', join(jobDir, 'model.json'), '--sample', '50']);
      const predictions = [...sample.stdout.matchAll(/^predicted (\d), actual (\d)$/gm)];
      expect(predictions).toHaveLength(50);
      expect(predictions.filter(([, guess, label]) => guess === label).length).toBeGreaterThanOrEqual(45);
    },
  );

  it('compares settings on digits that it is not tested on', PROCESS, async () => {
    const jobDir = join(root, 'validated');
    const args = ['--epochs', '2', '--hidden', '16', '--optimizer=momentum', '--momentum=0.8', '--validate'];
    const { stdout } = await finish([...TRAIN, '--job-dir', jobDir, ...args]);
    expect(stdout).toContain('Training on 1078 digits, validating on 360, testing on 359,');
    const { accuracy, test_accuracy } = await readJson(join(jobDir, 'metrics.json'));
    expect(accuracy).toBeGreaterThan(0.8);
    expect(test_accuracy).toBeGreaterThan(0.8);
    expect(test_accuracy).not.toBe(accuracy);
  });

  it.each([
    ['gradient descent', []],
    ['momentum', ['--optimizer', 'momentum']],
  ])(
    'with %s, saves a checkpoint on SIGTERM, exits with 143, and resumes with the result of an uninterrupted run',
    PROCESS,
    async (name, optimizer) => {
      const [uninterrupted, interrupted] = [join(root, `uninterrupted-${name}`), join(root, `interrupted-${name}`)];
      const epochs = ['--epochs', '4', '--seed', '7', ...optimizer];
      const [first, code] = await Promise.all([
        finish([...TRAIN, '--job-dir', uninterrupted, ...epochs]),
        interruptAt(/^Training on/, [...TRAIN, '--job-dir', interrupted, ...epochs]),
      ]);
      expect(first.code).toBe(0);
      expect(code).toBe(143);
      expect(await readdir(interrupted)).toEqual(['checkpoints']);

      const resumed = await finish([...TRAIN, '--job-dir', interrupted, ...epochs]);
      expect(resumed.stdout).toMatch(/^Resuming from the checkpoint of step \d+ \(epoch [0-3]\)\.$/m);
      expect(await readFile(join(interrupted, 'model.json'))).toEqual(
        await readFile(join(uninterrupted, 'model.json')),
      );
    },
  );

  it('resumes from the last complete checkpoint and keeps only three', PROCESS, async () => {
    const jobDir = join(root, 'damaged');
    const args = [...TRAIN, '--job-dir', jobDir, '--hidden', '4'];
    await finish([...args, '--epochs', '5']);
    const checkpoints = (await readdir(join(jobDir, 'checkpoints'))).sort();
    expect(checkpoints).toEqual(['step-00000270.json', 'step-00000360.json', 'step-00000450.json']);

    await truncate(join(jobDir, 'checkpoints', 'step-00000450.json'), 100);
    const { code, stdout } = await finish([...args, '--epochs', '5']);
    expect(code).toBe(0);
    expect(stdout).toContain('Resuming from the checkpoint of step 360 (epoch 4).');
    expect(stdout).toContain('epoch 5/5');
  });

  it(
    'writes to the directory in the environment without --job-dir, and requires --job-dir without either',
    async () => {
      const once = ['--epochs', '1', '--hidden', '2'];
      const none = { DROPFORGE_OUTPUT_DIR: '', AIP_MODEL_DIR: '' };
      const own = { ...none, DROPFORGE_OUTPUT_DIR: join(root, 'own'), AIP_MODEL_DIR: join(root, 'unused') };
      const vertex = { ...none, AIP_MODEL_DIR: join(root, 'vertex') };
      const ends = [await finish([...TRAIN, ...once], own), await finish([...TRAIN, ...once], vertex)];
      expect(ends.map(({ code }) => code)).toEqual([0, 0]);
      expect(await readdir(join(root, 'own'))).toContain('model.json');
      expect(await readdir(join(root, 'vertex'))).toContain('model.json');
      expect(await finish([...TRAIN, ...once], none)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--job-dir'),
      });
    },
    PROCESS.timeout,
  );

  it('does not resume from a checkpoint with other settings', PROCESS, async () => {
    const jobDir = join(root, 'other');
    await finish([...TRAIN, '--job-dir', jobDir, '--hidden', '2', '--epochs', '1']);
    const { code, stderr } = await finish([...TRAIN, '--job-dir', jobDir, '--hidden', '3', '--epochs', '1']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/Use the same settings, or another --job-dir/);
    expect(stderr).not.toContain('Traceback');
  });

  it.each([
    ['--epochs', '0'],
    ['--learning-rate', '-1'],
    ['--batch-size', 'many'],
    ['--momentum', '1'],
    ['--optimizer', 'adam'],
  ])('rejects %s %s', async (flag, value) => {
    const { code, stderr } = await finish([...TRAIN, '--job-dir', root, flag, value]);
    expect(code).toBe(2);
    expect(stderr).toContain(flag);
  });
});
