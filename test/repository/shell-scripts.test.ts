import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { findProgram } from '../support/find-program.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { readRepository } from './repository-files.ts';

const scripts = readRepository().filter(
  ({ path, text }) => path.endsWith('.sh') || /^#!\S+(?:[ /](?:ba|da)?sh)$/m.test(text.split('\n', 1)[0] ?? ''),
);
/** Typographic apostrophes, expressions for another shell, and files of the machine on which the script runs. */
const EXCLUDED = 'SC1112,SC2016,SC1091';
const shellcheck = findProgram('shellcheck');

describe('the shell scripts', () => {
  it('are found, those without an ending and that of VMs included', () => {
    const paths = scripts.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['.ci/run', '.githooks/commit-msg', 'infra/vm-agent/startup.sh']));
  });

  if (shellcheck !== undefined) {
    it.each(scripts)('$path passes shellcheck', ({ text }) => {
      const { stdout, stderr } = spawnSync(shellcheck, [`--exclude=${EXCLUDED}`, '-'], {
        input: text,
        encoding: 'utf8',
      });
      expect(stdout + stderr).toBe('');
    });
  }
});

if (shellcheck === undefined) {
  leaveOut('shellcheck', 'the shell scripts');
}
