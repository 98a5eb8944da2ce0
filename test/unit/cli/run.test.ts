import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../cli/commands.ts';
import { closeServer, listen } from '../../../infra/embedded/http/server.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

const EXAMPLE = fileURLToPath(new URL('../../../examples/digits', import.meta.url));
const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

let empty: string;
beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), 'dropforge-none-'));
});
afterAll(() => rm(empty, { recursive: true }));

describe('the command line', () => {
  /** The root, and the first words of every command. */
  const groups = new Set(
    COMMANDS.flatMap(({ name }) => name.split(' ').map((_, i, words) => words.slice(0, i).join(' '))),
  );

  it('lists every command in the help, with its summary', async () => {
    for (const group of groups) {
      const { code, stdout } = await runCli([...group.split(' ').filter(Boolean), '--help']);
      expect(code).toBe(0);
      for (const { name, summary } of COMMANDS) {
        const [parent, word] = [name.split(' ').slice(0, -1).join(' '), name.split(' ').at(-1)];
        if (parent === group) {
          expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`${word} ${summary}`.replaceAll(/\s+/g, ' '));
        }
      }
    }
  });

  it.each(COMMANDS.map(({ name }) => name))('%s --help lists its operands and flags', async (name) => {
    const entry = COMMANDS.find((one) => one.name === name);
    const { operands = [], flags = [] } = (await entry?.load()) ?? {};
    const { code, stdout, stderr } = await runCli([...name.split(' '), '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const word of [...operands.map((one) => one.name), ...flags.map((one) => `--${one.name}`), '--version']) {
      expect(stdout).toContain(word);
    }
  });

  it.each(COMMANDS.map(({ name }) => name))('%s --help has an example that can be typed', async (name) => {
    const { stdout } = await runCli([...name.split(' '), '--help']);
    const [, example = ''] = /^Example: dropforge (.+)$/m.exec(stdout) ?? [];
    expect(`${example} `).toContain(`${name} `);
    const cwd = join(empty, name);
    await cp(EXAMPLE, cwd, { recursive: true });
    const io = { cwd, dataDir: empty, stateDir: empty };
    // No cloud is running in the folder, which is no error of usage.
    const { code, stderr } = await runCli(example.split(' '), io);
    expect([code === 2, stderr]).toEqual([false, stderr]);
  });

  it('shows the commands by task, those for the first job first', async () => {
    const { code, stdout, stderr } = await runCli([]);
    expect([code, stdout]).toEqual([2, '']);
    const titles = stderr.match(/^\S.*:$/gm);
    expect(titles?.slice(0, 3)).toEqual(['Options:', 'Start here:', 'Jobs:']);
    expect(stderr.indexOf('  demo ')).toBeLessThan(stderr.indexOf('  jobs '));
    expect(stderr).toContain('dropforge run . your own program');
  });

  it.each([
    ['ssh a --format=json', "--format has no effect on 'ssh'"],
    ['exec a --format=json -- ls', "--format has no effect on 'exec'"],
    ['up --deployment=d.json', "--deployment has no effect on 'up'"],
    ['demo --deployment=d.json', "--deployment has no effect on 'demo'"],
    ['jobs validate a.yaml --data-dir=d', "--data-dir has no effect on 'jobs validate'"],
    ['jobs list --data-dir=d --deployment=d.json', '--data-dir and --deployment name two clouds'],
    ['metrics a --points 5', 'npx dropforge metrics a METRIC --points N'],
    ['trials a --export=a.csv --limit=3', '--export writes all trials: remove --limit'],
    ['ls --long', 'name a bucket or folder'],
  ])('%s is rejected, since a flag has no effect', async (line, message) => {
    const { code, stdout, stderr } = await runCli(line.split(' '), { dataDir: empty });
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  });

  it('leaves the flags without effect out of the help', async () => {
    expect((await runCli(['ssh', '--help'])).stdout).not.toContain('--format');
    expect((await runCli(['up', '--help'])).stdout).not.toContain('--deployment');
    expect((await runCli(['logs', '--help'])).stdout).toContain('--deployment');
  });

  it('prints its version', async () => {
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it('accepts help as a command', async () => {
    expect((await runCli(['help', 'jobs', 'wait'])).stdout).toBe((await runCli(['jobs', 'wait', '--help'])).stdout);
  });

  it.each([
    [['fly'], /unknown command 'fly'/],
    [['jobs', 'lst'], /Did you mean jobs list/],
    [['jobs', 'list', '--limt', '3'], /--limit/],
    [['jobs', 'list', '--limit', 'all'], /--limit must be a whole number from 1 to 10000/],
    [['jobs', 'list', 'extra'], /too many arguments/],
    [['jobs', 'describe'], /missing required argument 'JOB'/],
    [['jobs', 'list', '--format', 'xml'], /Use text, json, yaml, csv, csv\(FIELD,FIELD\) or value\(FIELD,FIELD\)/],
    [['jobs', 'list', '--format', 'value()'], /Use text, json, yaml/],
    [['jobs', 'list', '--filter', 'state>RUNNING'], /--filter 'state>RUNNING' is not supported: use FIELD=VALUE/],
    [['jobs', 'list', '--filter', 'state=RUNNING OR state=FAILED'], /is not supported: use FIELD=VALUE, FIELD!=VALUE/],
    [['jobs', 'list', '--filter', 'running'], /for example state=RUNNING/],
    [['jobs', 'list', '--filter', 'stat=RUNNING'], /stat is not a field of a job. Did you mean "state"/],
    [
      ['jobs', 'list', '--sort-by', '~cst'],
      /--sort-by: cst is not a field of a job. Did you mean "cost"\? Columns and fields: job, state, gpu/,
    ],
    [['jobs', 'list', '--filter', 'state=RUNING'], /RUNING is not a state of a job. Did you mean "RUNNING"/],
    [['jobs', 'wait', 'a', '--timeout', 'soon'], /--timeout must be a whole number of seconds/],
    [['jobs', 'cancel', 'a', '--', 'b'], /does not accept arguments after --/],
    [['cp', 'gs://a/b', '-'], /to print objects use `dropforge cat`/],
    [['cp', 'a', 'b'], /must be in a bucket: gs:\/\//],
    [['up', '--api-port', '70000'], /--api-port must be a whole number/],
    [['jobs', 'submit', 'training', '1st'], /is not a valid job id/],
  ])('rejects %j', async (argv, message) => {
    const { code, stdout, stderr } = await runCli(argv, { cwd: empty });
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('looks for a cloud in the nearest .dropforge, and prints how to start one if none is running', async () => {
    const inside = join(empty, 'deep', 'down');
    await mkdir(inside, { recursive: true });
    await mkdir(join(empty, '.dropforge'));
    const { code, stderr } = await runCli(['jobs', 'list'], { cwd: inside });
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: No embedded cloud is running on ${join(empty, '.dropforge')}: run \`npx dropforge up\` first, or select a deployment on Google Cloud with --deployment FILE.\n`,
    );
  });

  it('ignores the endpoints of a process that has ended', async () => {
    const address = 'http://127.0.0.1:1';
    const endpoints = {
      projectId: 'p',
      api: address,
      storage: address,
      pubsub: address,
      compute: address,
      secretManager: address,
      admin: address,
      uploadBucket: 'u',
      jobsBucket: 'j',
    };
    // Greater than the highest process id on Linux, 4,194,304 (proc(5), pid_max).
    await writeFile(join(empty, 'endpoints.json'), JSON.stringify({ pid: 4_194_305, ...endpoints }));
    expect((await runCli(['status', '--data-dir', empty])).stderr).toContain(
      `run \`npx dropforge --data-dir ${empty} up\` first`,
    );
    expect((await runCli(['status', '--data-dir', join(empty, "it's here")])).stderr).toContain(
      `run \`npx dropforge --data-dir '${empty}/it'\\''s here' up\` first`,
    );
    await writeFile(join(empty, 'endpoints.json'), JSON.stringify({ pid: process.pid, ...endpoints }));
    expect((await runCli(['status'], { dataDir: empty })).stderr).toContain('http://127.0.0.1:1 is unreachable');
    for (const argv of [['ls'], ['cat', 'gs://jobs/a']]) {
      const { stderr } = await runCli(argv, { dataDir: empty });
      expect(stderr).toContain('error: Cloud Storage is unreachable: run `npx dropforge up` (ECONNREFUSED).');
    }
  });
});

describe('the dropforge program', () => {
  it('exits with the exit code of the command and prints errors to stderr only', async () => {
    const node = promisify(execFile);
    const help = await node(process.execPath, [MAIN, '--help'], { cwd: empty });
    expect(help.stdout).toContain('Usage: dropforge');
    const env = { ...process.env, XDG_STATE_HOME: empty };
    const failed = node(process.execPath, [MAIN, 'jobs', 'list'], { cwd: empty, env });
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('dropforge.js up` first'),
    });
    await expect(node(process.execPath, [MAIN, 'nope'], { cwd: empty })).rejects.toMatchObject({ code: 2 });
  });

  it('exits immediately if the requested port is in use', async () => {
    const holder = createServer();
    const port = await listen(holder, 0);
    const argv = [MAIN, 'up', '--api-port', String(port), '--data-dir', join(empty, 'taken')];
    await expect(promisify(execFile)(process.execPath, argv, { timeout: 45_000 })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Port ${port} is in use.`),
    });
    await closeServer(holder);
  });
});
