import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typeIntoTerminal } from '../support/cli/type-into-terminal.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';
import { openEnvironment } from '../support/frameworks/framework-environment.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/shell.md', import.meta.url));

const RUNS = `
import os, time
os.environ['DROPFORGE_OUTPUT_DIR']
print('training', flush=True)
time.sleep(300)
`;

import { leaveOut } from '../support/run/leave-out.ts';

const FAILS = `
open('half-read.csv', 'w').write('1,2')
raise RuntimeError('the loss exploded')
`;
/** Its child works, behind a shell. */
const COUNTS = `
import subprocess, sys
def count():
    while True:
        words = [word.lower() for word in ('the quick Brown fox ' * 200).split()]
if len(sys.argv) > 1:
    count()
subprocess.call(['sh', '-c', '"$0" -u -m trainer.task child; exit $?', sys.executable])
`;
const TYPES = typeIntoTerminal(['tty && echo in $CLOUD_ML_JOB_ID', 'exit 7']);

const { python, installed } = await openEnvironment(['py-spy']);
const profilers = python !== undefined && installed.has('py-spy') ? [dirname(python)] : [];
if (profilers.length === 0) {
  leaveOut('py-spy from a pip index', 'a profile by `dropforge exec`');
}

let cloud: CloudUnderTest;

beforeAll(async () => {
  const PATH = [process.env['PATH'], ...profilers].join(delimiter);
  cloud = await startCloudUnderTest(
    { timeouts: { syncMs: 300, heartbeatMs: 300 }, stopGraceSeconds: 1, vmsMax: 3 },
    { environment: { ...process.env, PATH } },
  );
  const env = { GREETING: 'from the job file' };
  await cloud.upload('runs.tar.gz', await packProgram(RUNS, { name: 'runs', module: 'trainer.task', env }));
  const kept = { name: 'kept', module: 'trainer.task', keepOnFailure: '10m' };
  await cloud.upload('kept.tar.gz', await packProgram(FAILS, kept));
  await cloud.awaitJob('runs', ({ replicas }) => replicas[0]?.phase === 'RUNNING');
  await until(
    'the log',
    async () => (await cloud.readLog('runs')).some(({ text: line }) => line === 'training') || undefined,
  );
  await cloud.awaitJob('kept');
});
afterAll(() => cloud.stop());

function start(args: readonly string[], prefix: readonly string[] = []) {
  const [file = '', ...rest] = [...prefix, process.execPath, CLI, ...args, `--data-dir=${cloud.dataDir}`];
  return spawn(file, rest, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, PS1: '$ ' } });
}

/** Runs the CLI as a process, with this text on its standard input. */
async function exec(args: readonly string[], { stdin = '', command = [] as readonly string[] } = {}) {
  const [name, ...flags] = args;
  const all = ['exec', ...(name === undefined ? [] : [name]), ...flags, `--data-dir=${cloud.dataDir}`];
  const child = spawn(process.execPath, [CLI, ...all, ...(command.length > 0 ? ['--', ...command] : [])]);
  child.stdin.end(stdin);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: child.exitCode, stdout, stderr };
}

describe('dropforge exec', () => {
  it('runs a command with the variables, the folder and the Python of the program, and passes its exit code on', async () => {
    const script = 'echo "$GREETING"; python -c "import trainer, sys; print(sys.prefix)"; exit 3';
    const { code, stdout, stderr } = await exec(['runs'], { command: ['sh', '-c', script] });
    expect([code, stderr]).toEqual([3, '']);
    expect(stdout).toMatch(/^from the job file\n.*\/venv\n$/);
  });

  it.each(profilers)('profiles the program with the commands of docs/shell.md', async () => {
    await cloud.upload('counts.tar.gz', await packProgram(COUNTS, { name: 'counts', module: 'trainer.task' }));
    await cloud.awaitJob('counts', ({ replicas }) => replicas[0]?.phase === 'RUNNING');
    const [record = '', print = ''] =
      (await readFile(PAGE, 'utf8')).match(/^npx dropforge exec .*profile\.svg.*$/gm) ?? [];
    const cli = `'${process.execPath}' '${CLI}' exec counts '--data-dir=${cloud.dataDir}'`;
    const child = spawn(
      'sh',
      ['-c', `${record}\n${print}`.replaceAll('npx dropforge exec JOB', cli).replace('-d 30', '-d 1')],
      {
        cwd: cloud.dataDir,
      },
    );
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect([child.exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Wrote flamegraph data');
    expect(await readFile(join(cloud.dataDir, 'profile.svg'), 'utf8')).toContain('>count (trainer/task.py:');
    await until('the upload', () => cloud.readObject(cloud.endpoints.jobsBucket, 'counts/profile.svg'));
    await cloud.cancel('counts');
  });

  it('passes its standard input on', async () => {
    expect(await exec(['runs'], { stdin: 'a\nb\n', command: ['wc', '-l'] })).toMatchObject({ code: 0, stdout: '2\n' });
  });

  it('opens a shell on the terminal of the caller', async () => {
    const child = start(['ssh', 'runs'], ['python3', '-c', TYPES]);
    const [shown] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(shown).toMatch(/\/dev\/pts\/\d+\r\nin runs\r\n/);
    expect(child.exitCode).toBe(7);
  });

  it('enters the VM of a program that has failed, where its files are', async () => {
    expect(await exec(['kept'], { command: ['cat', 'half-read.csv'] })).toMatchObject({ code: 0, stdout: '1,2' });
  });

  it('says what it cannot enter', async () => {
    expect((await exec(['runs', '--replica=worker-3'], { command: ['true'] })).stderr).toContain(
      'Choose one of master-0',
    );
    expect((await exec(['nothing'], { command: ['true'] })).stderr).toContain('Job nothing does not exist');
    expect(await exec(['runs'], { command: ['no-such-program'] })).toMatchObject({ code: 127 });
  });

  it('ends with the VM, and a job that has ended has none', async () => {
    const child = start(['exec', 'runs']);
    child.stdin.write('echo ready; sleep 200\n');
    await once(child.stdout, 'data');
    await cloud.cancel('runs');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(137);
    await cloud.awaitJob('runs');
    expect((await exec(['runs'], { command: ['true'] })).stderr).toContain('keepOnFailure: 30m');
  });
});
