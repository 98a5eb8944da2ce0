import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

let cloud: TestCloud;
let folder: string;
beforeAll(async () => {
  cloud = await startTestCloud();
  cloud.jobs.set('digits_1', [viewOf('digits_1')]);
  cloud.jobs.set('digits_2', [viewOf('digits_2')]);
  folder = await mkdtemp(join(tmpdir(), 'dropforge-shell-'));
  const program = join(folder, 'dropforge');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(program, 0o755);
});
afterAll(async () => {
  await cloud.close();
  await rm(folder, { recursive: true });
});

/** Returns what the last word of a command line can become. */
async function complete(...words: string[]): Promise<readonly string[]> {
  const { code, stdout } = await runCli(['completion', 'bash', '--', ...words], { dataDir: cloud.dataDir });
  expect(code).toBe(0);
  return stdout.split('\n').filter(Boolean);
}

describe('dropforge completion', () => {
  it('completes commands and the commands of groups', async () => {
    expect(await complete('')).toEqual(expect.arrayContaining(['demo', 'run', 'jobs', 'completion']));
    expect(await complete('jo')).toEqual(['jobs']);
    expect(await complete('jobs', 'w')).toEqual(['wait']);
    expect(await complete('jobs', 'submit', '')).toEqual(['training']);
    expect(await complete('--data-dir', 'x', 'secrets', '')).toEqual(['create', 'list', 'delete']);
  });

  it('completes flags and their choices', async () => {
    expect(await complete('jobs', 'list', '--sor')).toEqual(['--sort-by']);
    expect(await complete('jobs', 'list', '--format', '')).toEqual(['text', 'json', 'yaml', 'csv']);
    expect(await complete('jobs', 'submit', 'training', 'a', '--scale-tier', 'basic-')).toEqual(['basic-gpu']);
    expect(await complete('completion', 'z')).toEqual(['zsh']);
  });

  it('completes the jobs of the cloud, and none without one', async () => {
    expect(await complete('jobs', 'describe', 'dig')).toEqual(['digits_1', 'digits_2']);
    expect((await runCli(['completion', 'bash', '--', 'logs', ''], { dataDir: folder })).stdout).toBe('');
  });

  it('offers no name that a shell would execute', async () => {
    cloud.jobs.set('name', [viewOf('zz;touch x;')]).set('glob', [viewOf('*')]);
    expect(await complete('jobs', 'describe', '')).toEqual(['digits_1', 'digits_2']);
  });

  it('leaves files, values without choices and the arguments of the program to the shell', async () => {
    expect(await complete('jobs', 'validate', '')).toEqual([]);
    expect(await complete('jobs', 'list', '--limit', '')).toEqual([]);
    expect(await complete('--deployment', '')).toEqual([]);
    expect(await complete('init', '')).toEqual(['python', 'pytorch']);
    expect(await complete('run', '.', '--', '--')).toEqual([]);
  });

  it('knows no other shells', async () => {
    const { code, stderr } = await runCli(['completion', 'tcsh']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no completion for tcsh: use bash, zsh, fish.')]);
  });

  /** Programs in the language of each shell that print what it offers for the name of a job. */
  const PROGRAMS = {
    bash: `source <(dropforge completion bash)
      COMP_WORDS=(dropforge jobs wait digits_1) COMP_CWORD=3; _dropforge; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: `compdef() { :; }; compadd() { shift; print -rl -- $@; }; eval "$(dropforge completion zsh)"
      words=(dropforge jobs wait digits_1) CURRENT=4; _dropforge`,
    fish: `dropforge completion fish | source
      complete -C 'dropforge jobs wait digits_1'`,
  };
  const hasShell = (shell: string) => {
    try {
      execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };

  for (const [shell, program] of Object.entries(PROGRAMS)) {
    it.runIf(hasShell(shell))(`prints a script that ${shell} understands`, async () => {
      const PATH = `${folder}${delimiter}${process.env.PATH}`;
      const env = { ...process.env, PATH, HOME: folder, DROPFORGE_DATA_DIR: cloud.dataDir };
      const { stdout } = await promisify(execFile)(shell, ['-c', program], { env });
      expect(stdout).toBe('digits_1\n');
    });
  }
});
