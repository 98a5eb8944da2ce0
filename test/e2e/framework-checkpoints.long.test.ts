import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import {
  openFrameworkEnvironment,
  type Requirement,
  selectInstalled,
} from '../support/frameworks/framework-environment.ts';

const HARNESS = fileURLToPath(new URL('../../infra/vm-agent/tests/framework_saves.py', import.meta.url));
/** About a minute of processor time, which a busy machine stretches to several. */
const RUN_MS_MAX = 400_000;

/** The programs of infra/vm-agent/tests/framework_program.py, each with its way to save. */
const PROGRAMS: readonly { readonly program: string; readonly requires: readonly Requirement[] }[] = [
  { program: 'joblib', requires: ['joblib', 'scikit-learn'] },
  { program: 'keras', requires: ['tensorflow-cpu'] },
  { program: 'orbax', requires: ['jax', 'orbax-checkpoint'] },
  { program: 'tensorflow', requires: ['tensorflow-cpu'] },
  { program: 'torch', requires: ['torch'] },
];

type Result = {
  readonly program: string;
  /** The last step that the program saved, and the last one that the agent had to save before the kill. */
  readonly saved: number;
  readonly due: number;
  readonly resumed: number;
  readonly errors: string;
};

const environment = await openFrameworkEnvironment();
const programs = selectInstalled(environment, PROGRAMS).map(({ program }) => program);

it('programs that are killed without notice resume from what their framework saved two intervals before', {
  timeout: RUN_MS_MAX + 10_000,
}, async () => {
  const args = [HARNESS, environment.python ?? 'python3', ...programs];

  const { stdout } = await promisify(execFile)('python3', args, { timeout: RUN_MS_MAX });

  const results = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Result => JSON.parse(line));
  expect(results.map(({ program }) => program)).toEqual(programs);
  expect(results.filter(({ resumed, due, saved }) => !(due > 0 && resumed >= due && resumed <= saved))).toEqual([]);
});
