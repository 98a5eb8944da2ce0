import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';

const ACTION = fileURLToPath(new URL('../../.github/actions/validate', import.meta.url));
const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

type Texts = Readonly<Record<string, string>>;
type Step = { readonly shell: string; readonly run: string; readonly env: Readonly<Record<string, string>> };
type Action = {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
};

let action: Action;
let work: string;

beforeEach(async () => {
  action = parse(await readFile(join(ACTION, 'action.yml'), 'utf8'));
  work = await mkdtemp(join(tmpdir(), 'dropforge-action-'));
  await mkdir(join(work, 'repository'));
  await mkdir(join(work, 'temp'));
  await mkdir(join(work, 'bin'));
  // Prints what it would install, and runs this checkout instead.
  const npx = join(work, 'bin', 'npx');
  await writeFile(
    npx,
    `#!/bin/sh\necho "$2" > '${join(work, 'package')}'\nshift 4\nexec '${process.execPath}' '${CLI}' "$@"\n`,
  );
  await chmod(npx, 0o755);
});

afterEach(async () => {
  await rm(work, { recursive: true });
});

/** Runs the steps of the action as a runner does, on a repository with these files. */
async function runAction(files: Texts, inputs: Texts = {}, temp = 'RUNNER_TEMP') {
  const given: Texts = { dropforge: 'dropforge@0.1.0', ...inputs };
  const repository = join(work, 'repository');
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(repository, path)), { recursive: true });
    await writeFile(join(repository, path), text);
  }
  execFileSync('git', ['init', '--quiet'], { cwd: repository });
  execFileSync('git', ['add', '.'], { cwd: repository });
  const summary = join(work, 'summary.md');
  await writeFile(summary, '');
  const results = action.runs.steps.map(({ shell, run, env }) => {
    expect([shell, run]).toEqual(['bash', expect.not.stringContaining('${{')]);
    const variables = Object.entries(env).map(([name, expression]) => {
      const input = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(expression)?.[1] ?? '';
      return [name, given[input] ?? action.inputs[input]?.default];
    });
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run], {
      cwd: repository,
      encoding: 'utf8',
      env: {
        PATH: [join(work, 'bin'), dirname(process.execPath), process.env.PATH].join(':'),
        HOME: work,
        GITHUB_ACTION_PATH: ACTION,
        GITHUB_STEP_SUMMARY: summary,
        [temp]: join(work, 'temp'),
        npm_config_offline: 'true',
        ...Object.fromEntries(variables),
      },
    });
  });
  const [result] = results;
  return {
    code: result?.status,
    stdout: result?.stdout,
    stderr: result?.stderr,
    summary: await readFile(summary, 'utf8'),
  };
}

it('annotates the line of each finding, lists prices, and fails with an invalid job file', async () => {
  const { code, stdout, summary } = await runAction({
    'good/job.yaml': 'module: trainer.task\ngpu: T4\n',
    'bad/job.yaml': 'module: trainer.task\ngpu: T5\nfoo: 1\n',
  });
  expect(stdout?.split('\n')).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^::error file=bad\/job\.yaml,line=2,title=UNKNOWN_ACCELERATOR::"T5" is not a GPU type\. /),
      expect.stringMatching(/^::error file=bad\/job\.yaml,line=3,title=UNKNOWN_FIELD::/),
    ]),
  );
  expect(code).toBe(1);
  expect(summary).toMatch(/\n\| bad&#47;job\.yaml \| invalid \|/);
  expect(summary).toMatch(
    /\n\| good&#47;job\.yaml \| valid \| 1 × n1-standard-8 with 1 × nvidia-tesla-t4 \|.*\$0\.\d\d/,
  );
  expect(await readFile(join(work, 'package'), 'utf8')).toBe('--package=dropforge@0.1.0\n');
});

it('succeeds with valid job files, and checks only those that are named', async () => {
  const files = { 'a.yaml': 'module: trainer.task\n', 'b.yaml': 'nothing: 1\n' };
  const { code, summary } = await runAction(files, { files: 'a.yaml\n', dropforge: 'https://example.com/d.tgz' });
  expect([code, summary]).toEqual([0, expect.not.stringContaining('b.yaml')]);
  expect(await readFile(join(work, 'package'), 'utf8')).toBe('--package=https://example.com/d.tgz\n');
});

it('runs, marks up and commands nothing that a name of a file or an input contains', async () => {
  const names = [
    '-x/job.yaml',
    '$(touch pwned)`touch pwned`;touch pwned/job.yaml',
    'a\n::error::pwned/job.yaml',
    'b,line=9::c%0A/job.yaml',
    '| <img src=x> [a](javascript:b) @all **c** &lt; #1/job.yaml',
  ];
  const { code, stdout, summary } = await runAction(
    Object.fromEntries(names.map((name) => [name, 'module: t\nfoo: 1\n'])),
    {
      deployment: '',
      files: ':(glob)**/job.yaml\n$(touch pwned)\n"; touch pwned; "',
    },
  );
  expect(code).toBe(1);
  const lines = (stdout ?? '').trimEnd().split('\n');
  expect(new Set(lines.map((line) => /^::error file=(.*?),line=2,title=UNKNOWN_FIELD::/.exec(line)?.[1]))).toEqual(
    new Set([
      '-x/job.yaml',
      '$(touch pwned)`touch pwned`;touch pwned/job.yaml',
      'a%0A%3A%3Aerror%3A%3Apwned/job.yaml',
      'b%2Cline=9%3A%3Ac%250A/job.yaml',
      '| <img src=x> [a](javascript%3Ab) @all **c** &lt; #1/job.yaml',
    ]),
  );
  expect(summary).not.toMatch(/[<>[\]@*()`]/);
  expect(summary.trimEnd().split('\n')).toHaveLength(6 + names.length);
  expect(
    execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], {
      cwd: join(work, 'repository'),
      encoding: 'utf8',
    }),
  ).not.toContain('?? ');
});

it.each([
  ['of that name', 'dropforge@0.1.0', 'RUNNER_TEMP'],
  ['of an address', 'package', 'RUNNER_TEMP'],
  ['without a temporary folder of the runner', 'package', 'TMPDIR'],
])('runs no program of a repository when npm installs a package %s', async (_, name, temp) => {
  await rm(join(work, 'bin', 'npx'));
  const program = `#!/bin/sh\ntouch '${join(work, 'started')}'\n`;
  const packageJson = JSON.stringify({ name: 'dropforge', version: '0.1.0', bin: 'program' });
  await mkdir(join(work, 'package'));
  await writeFile(join(work, 'package', 'package.json'), packageJson);
  await writeFile(join(work, 'package', 'program'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  await mkdir(join(work, 'repository', 'node_modules', '.bin'), { recursive: true });
  await writeFile(join(work, 'repository', 'node_modules', '.bin', 'dropforge'), program, { mode: 0o755 });
  await writeFile(join(work, 'repository', 'shell.sh'), program, { mode: 0o755 });
  const result = await runAction(
    {
      'job.yaml': 'module: t\n',
      'package.json': '{}',
      '.npmrc': 'script-shell=./shell.sh\n',
      'node_modules/dropforge/package.json': packageJson,
      'node_modules/dropforge/program': program,
    },
    { dropforge: name === 'package' ? join(work, name) : name },
    temp,
  );
  expect(await readdir(work)).not.toContain('started');
  // The name is not registered, and the test is offline.
  expect(result).toMatchObject({ code: name === 'package' ? 0 : 1 });
});

it('requires the package by name: no name is run that is not given', async () => {
  expect(action.inputs.dropforge).toEqual({ description: expect.anything(), required: true });
  const { code, stdout } = await runAction({ 'job.yaml': 'module: t\n' }, { dropforge: '' });
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^::error::The input dropforge is missing/)]);
});

it('says what is wrong if no file matches, and if the command does not run', async () => {
  const none = await runAction({ 'a.yaml': '' });
  expect([none.code, none.stdout]).toEqual([1, expect.stringMatching(/^::error::No file of this repository matches/)]);
  const { code, stdout } = await runAction(
    { 'job.yaml': 'module: t\n' },
    { package: 'missing', deployment: 'missing' },
  );
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^::error::dropforge has validated 0 of 1 job files: .*missing/),
  ]);
});
