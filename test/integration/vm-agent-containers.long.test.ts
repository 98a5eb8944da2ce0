import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { BUCKET, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { makeSdist, makeZip } from '../support/agent/vm-agent-package.ts';
import { startContainerMachineForEachTest } from '../support/containers/container-machine.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import { createMemoryGroup } from '../support/containers/memory-group.ts';
import { findProgram } from '../support/find-program.ts';
import { leaveOut } from '../support/run/leave-out.ts';

/** Enough for the agent, and for an engine's command. */
const MEMORY_BYTES_MAX = 400_000_000;
const TWO_MINUTES_MS = 120_000;

const engine = await startEngineUnderTest();
const limited = engine === null ? null : await createMemoryGroup(MEMORY_BYTES_MAX);
afterAll(() => limited?.remove());

if (engine === null) {
  leaveOut('a container engine', 'a program in a container');
} else {
  describe('a program in a container', () => suite(engine));
}

function suite(engine: EngineUnderTest) {
  const under = startContainerMachineForEachTest(engine);
  const { cloud, machine, ended } = under;

  afterAll(async () => {
    await under.stop();
    await engine.stop();
  });

  const shell = () => under.image('shell', 'shell', { changes: ['WORKDIR /app'] });
  const saved = (name: string) => cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
  const logged = (stream: string) =>
    cloud()
      .logEntries.filter((entry) => entry.labels.stream === stream)
      .map((entry) => entry.textPayload);

  it('saves its output, reports metrics, and knows its job, replica and folders', async () => {
    const script = `
printf '{"step": 3, "loss": 0.25}\\n' >> "$DROPFORGE_METRICS_FILE"
env > "$DROPFORGE_OUTPUT_DIR/environment"
pwd > /gcs/jobs/digits/folder
echo "$@" > gs:/jobs/digits/arguments
hostname > "$AIP_TENSORBOARD_LOG_DIR/../hostname"
echo out; echo err >&2
`;
    const report = await ended(
      under.boot({
        image: await shell(),
        argv: [
          'sh',
          '-ec',
          script.replace('hostname > ', 'mkdir -p "$AIP_TENSORBOARD_LOG_DIR"; hostname > '),
          'name',
          'a b',
        ],
        workingDir: '/app',
        change: ({ spec }) => ({
          spec: { ...spec, environment: { LINES: 'one\ntwo', HOME: '/nowhere', REF: '$(CLOUD_ML_JOB_ID)!' } },
        }),
      }),
    );
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const environment = saved('environment') ?? '';
    expect(environment).toContain('LINES=one\ntwo\n');
    expect(environment).toContain('HOME=/nowhere\n');
    expect(environment).toContain('REF=digits_1!\n');
    expect(environment).toContain('DROPFORGE_OUTPUT_DIR=/dropforge/output\n');
    expect(environment).toContain('CLUSTER_SPEC={"cluster": {"chief": ["df-digits-a1-master-0:2222"]}');
    expect(environment).not.toContain('DROPFORGE_HOME');
    expect(saved('folder')).toBe('/app\n');
    expect(saved('arguments')).toBe('a b --job-dir=gs://jobs/digits\n');
    expect(logged('stdout')).toContain('out');
    expect(logged('stderr')).toContain('err');
    expect(cloud().heartbeats.at(-1)?.progress).toMatchObject({ step: 3, metrics: { loss: 0.25 } });
    expect(await under.list()).toEqual([]);
  });

  it('ends with its own exit code, also with one that an engine uses, and leaves no daemon', async () => {
    const argv = ['sh', '-c', '(sleep 600 & ) ; setsid sleep 600 & echo broken >&2; exit 126'];
    const report = await ended(under.boot({ image: await shell(), argv }));
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 126, signal: null });
    expect(report.evidence.at(-1)).toBe('broken');
    expect(await under.list()).toEqual([]);
  });

  it.each([
    [['train', '--fast'], '`train` was not found in the image'],
    [['sh', '-c', 'train'], 'The image has no shell'],
    [['/data'], 'may not be executed'],
  ])('is not a failed program if it could not be started: %j', async (argv, message) => {
    const image = await under.image('plain', 'no-shell', { files: { '/data/file': '' } });
    const report = await ended(under.boot({ image, argv }));
    expect(report).toMatchObject({ reason: 'CONTAINER_NOT_STARTED', message: expect.stringContaining(message) });
    expect(await under.list()).toEqual([]);
  });

  it.each(['/gcs', '/gcs/data', '/gcs/jobs/digits'])('runs in the folder %s of its image', async (workingDir) => {
    const argv = ['sh', '-ec', 'pwd > "$DROPFORGE_OUTPUT_DIR/folder"'];
    const report = await ended(under.boot({ image: await shell(), argv, workingDir }));
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(saved('folder')).toBe(`${workingDir}\n`);
  });

  it('writes its output as a user who is not root', async () => {
    const image = await under.image('user', 'shell', { changes: ['USER trainer'] });
    const script =
      'id -u > "$DROPFORGE_OUTPUT_DIR/user"; mkdir "$DROPFORGE_OUTPUT_DIR/sub"; echo x > "$DROPFORGE_OUTPUT_DIR/sub/f"; echo "{\\"loss\\": 1}" > "$DROPFORGE_METRICS_FILE"';
    expect(await ended(under.boot({ image, argv: ['sh', '-ec', script], user: 'trainer' }))).toMatchObject({
      exitCode: 0,
    });
    expect(saved('user')).toBe('1000\n');
    expect(saved('sub/f')).toBe('x\n');
  });

  it.each([
    ['by SIGTERM, which it does not handle', 'sleep 600', 15],
    ['by SIGKILL, since it ignores SIGTERM', 'trap "" TERM; echo on; while true; do sleep 0.1; done', 9],
  ])('is stopped %s', async (_, script, signal) => {
    const stopping = under.boot({
      image: await shell(),
      argv: ['sh', '-c', script],
      change: ({ limits }) => ({ limits: { ...limits, maxRunningSeconds: 1.5, stopGraceSeconds: 1 } }),
    });
    expect(await ended(stopping)).toMatchObject({ reason: 'MAX_RUNNING_TIME', signal });
    expect(await under.list()).toEqual([]);
  });

  it.each([
    ['itself', 'exec sh /saves.sh', null],
    ['as the child of a shell', 'sh /saves.sh; echo next', 15],
    ['beside others that a shell waits for', 'sleep 600 & sh /saves.sh & wait; echo next', 15],
  ])('has its whole grace period to save, %s', async (_, script, signal) => {
    const saves = 'trap "sleep 2; echo all > $DROPFORGE_OUTPUT_DIR/saved; exit 0" TERM; while true; do sleep 0.1; done';
    const stopping = under.boot({
      image: await under.image('saves', 'shell', { files: { '/saves.sh': saves } }),
      argv: ['sh', '-c', script],
      change: ({ limits }) => ({ limits: { ...limits, maxRunningSeconds: 1.5, stopGraceSeconds: 20 } }),
    });
    expect(await ended(stopping)).toMatchObject({ reason: 'MAX_RUNNING_TIME', signal });
    expect(saved('saved')).toBe('all\n');
    expect(logged('stdout')).not.toContain('next');
  });

  it.each(['PULLING', 'RUNNING'])('is stopped at once by a cancel in the phase %s', async (phase) => {
    cloud().answerHeartbeat = (heartbeat) =>
      heartbeat.phase === phase
        ? { command: 'STOP', reason: 'The job was cancelled.' }
        : { command: 'CONTINUE', reason: null };
    const image = await under.image(`cancelled-${phase.toLowerCase()}`, 'shell', { changes: [`LABEL of=${phase}`] });
    const message = expect.stringContaining('The job was cancelled.');
    expect(await ended(under.boot({ image, argv: ['sleep', '600'] }))).toMatchObject({ reason: 'STOPPED', message });
    expect(await under.list()).toEqual([]);
  });

  it('has its secrets, which no list of processes shows', async () => {
    cloud().intercept = ({ url }) =>
      url.endsWith(':access')
        ? Response.json({ payload: { data: Buffer.from('hunter2-hunter2').toString('base64') } })
        : undefined;
    const vm = under.boot({
      image: await shell(),
      argv: ['sh', '-ec', 'echo "token $TOKEN"; echo "$TOKEN" > "$DROPFORGE_OUTPUT_DIR/token"; sleep 600', 'x'],
      change: () => ({
        secrets: { TOKEN: 'projects/dropforge-test/secrets/token/versions/1' },
      }),
    });
    await until(() => saved('token') !== undefined, vm);
    const { stdout } = await promisify(execFile)('ps', ['axww', '-o', 'command']);
    expect(stdout).not.toContain('hunter2');
    cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'The job was cancelled.' });
    expect(await ended(vm)).toMatchObject({ reason: 'STOPPED', signal: 15 });
    expect(saved('token')).toBe('hunter2-hunter2\n');
    expect(logged('stdout')).toContain('token ***');
  });

  it('reads and writes paths of Cloud Storage with Python, and runs the sitecustomize of its image', async () => {
    cloud().put(BUCKET, 'other/data.txt', { body: Buffer.from('of another folder') });
    const task = `
import os, sys
with open('gs://jobs/digits/model.txt', 'w') as file: file.write('saved')
with open('/gcs/jobs/digits/second.txt', 'w') as file: file.write(sys.own)
print(open('gs://jobs/digits/model.txt').read(), os.environ['PYTHONPATH'])
`;
    const image = await under.image('customized', 'python', {
      changes: ['ENV PYTHONPATH=/app'],
      files: { '/app/sitecustomize.py': 'import sys\nsys.own = "of the image"\n', '/app/task.py': task },
    });
    expect(await ended(under.boot({ image, argv: ['python3', '/app/task.py'] }))).toMatchObject({ exitCode: 0 });
    expect(saved('model.txt')).toBe('saved');
    expect(saved('second.txt')).toBe('of the image');
    expect(logged('stdout')).toContain('saved /dropforge/python:/app');
  });

  it('is ended within two minutes when it does not exit after an exception, which is the cause', async () => {
    const task = `
import atexit, threading
atexit.register(threading.Event().wait)
raise KeyError('step')
`;
    const changes = ['USER 1000'];
    const image = await under.image('stuck', 'python', { changes, files: { '/app/task.py': task } });
    const startedAt = Date.now();
    const change = ({ limits }: VmConfig) => ({ limits: { ...limits, maxRunningSeconds: 150 } });
    const report = await ended(under.boot({ image, argv: ['python3', '/app/task.py'], user: '1000', change }));
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 1, signal: null });
    expect(report.message).toContain('The main thread of the program ended with KeyError.');
    expect(report.evidence.at(-1)).toBe("KeyError: 'step'");
    expect(logged('agent').join('\n')).toContain('threading.py", line');
    expect(Date.now() - startedAt).toBeLessThan(TWO_MINUTES_MS);
  }, 180_000);

  it('fails to write to another bucket, instead of losing the file on its own disk', async () => {
    const script = 'echo x > /gcs/jobs/digits/own; mkdir /gcs/other; echo x > /gcs/other/model';
    const report = await ended(under.boot({ image: await shell(), argv: ['sh', '-c', script] }));
    expect(report.reason).toBe('EXITED');
    expect(report.exitCode).not.toBe(0);
    expect(report.evidence.join('\n')).toContain('Read-only file system');
    expect(saved('own')).toBe('x\n');
  });

  it('runs a module of a package that is mounted, in the folder of the package', async () => {
    const task = `
import os, trainer.answer
print('answer', trainer.answer.VALUE, open('settings.txt').read(), os.getcwd())
open('gs:/jobs/digits/out.txt', 'w').write('saved')
open('leftover.bin', 'wb').write(bytes(2000))
`;
    const sources = {
      'trainer/__init__.py': '',
      'trainer/task.py': task,
      'trainer/answer.py': 'VALUE = 42\n',
      'settings.txt': 'as given',
    };
    const packages = [makeZip(sources), await makeSdist('')];
    const image = await under.image('python-user', 'python', { changes: ['USER 1000', 'WORKDIR /home'] });
    const vm = under.boot({
      image,
      argv: ['python3', '-m', 'trainer.task'],
      user: '1000',
      workingDir: '/home',
      packages,
    });
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(logged('stdout')).toContain('answer 42 as given /dropforge/packages/0');
    expect(saved('out.txt')).toBe('saved');
    expect(saved('dropforge-workdir/leftover.bin')?.length).toBe(2_000);
  });

  it('is stopped when what it writes to its own layer exceeds the disk limit', async () => {
    const script = 'dd if=/dev/zero of=/filler bs=1M count=60; sleep 600';
    const vm = under.boot({
      image: await shell(),
      argv: ['sh', '-c', script],
      change: ({ limits }) => ({ limits: { ...limits, diskBytesMax: 30_000_000, diskSetting: 'diskBytesMax' } }),
    });
    const message = expect.stringContaining('Raise diskBytesMax in the configuration');
    expect(await ended(vm)).toMatchObject({ reason: 'DISK_FULL', message });
  });

  describe('in a folder of its image', () => {
    const boot = async (script: string, attempt = 1) =>
      under.boot({
        image: await shell(),
        argv: ['sh', '-ec', script],
        workingDir: '/app',
        change: ({ intervals }) => ({ attempt, intervals: { ...intervals, syncSeconds: 0.3 } }),
      });
    const TRAINS = 'mkdir -p runs; cat runs/model 2>/dev/null || true; echo weights > runs/model';

    it('has what it writes there in the job directory, while it runs and at its end', async () => {
      const vm = await boot(`${TRAINS}; while [ ! -e "$DROPFORGE_OUTPUT_DIR/go" ]; do sleep 0.1; done; echo x > last`);
      await until(() => saved('dropforge-workdir/runs/model') === 'weights\n', vm);
      await writeFile(join(machine().home, 'output', 'go'), '');
      expect(await ended(vm)).toMatchObject({ exitCode: 0 });
      expect(saved('dropforge-workdir/last')).toBe('x\n');
      expect(await under.list()).toEqual([]);
    });

    it('finds it there in the next attempt, and may change it', async () => {
      expect(await ended(await boot(TRAINS))).toMatchObject({ exitCode: 0 });
      // Another VM has none of its files.
      await rm(machine().home, { recursive: true });
      await mkdir(machine().home);
      expect(await ended(await boot('cat runs/model; echo again >> runs/model', 2))).toMatchObject({ exitCode: 0 });
      expect(logged('stdout')).toContain('weights');
      expect(saved('dropforge-workdir/runs/model')).toBe('weights\nagain\n');
    });

    it('finds it there after a reboot, although it was not saved yet', async () => {
      const script = `[ -e begun ] || { echo begun > begun; touch "$DROPFORGE_OUTPUT_DIR/begun"; sleep 600; }; cat begun`;
      const vm = under.boot({ image: await shell(), argv: ['sh', '-ec', script], workingDir: '/app' });
      await until(() => existsSync(join(machine().home, 'output', 'begun')), vm);
      machine().cutPower();
      await new Promise((resolve) => vm.once('exit', resolve));
      expect(await ended(under.reboot())).toMatchObject({ exitCode: 0 });
      expect(logged('stdout')).toContain('begun');
    });

    it('saves nothing that a link in the place of the folder leads to', async () => {
      const script = 'echo own > own; cd /; mv app moved; ln -s /etc app; echo done';
      expect(await ended(await boot(script))).toMatchObject({ exitCode: 0 });
      expect([...cloud().objects.keys()].filter((name) => name.includes('dropforge-workdir'))).toEqual([]);
    });
  });

  it('is started again after a reboot, with its files, and nothing of the first boot is left', async () => {
    const script =
      'echo run >> "$DROPFORGE_OUTPUT_DIR/runs"; [ "$(wc -l < "$DROPFORGE_OUTPUT_DIR/runs")" = 2 ] || sleep 600';
    const vm = under.boot({ image: await shell(), argv: ['sh', '-c', script] });
    await until(() => saved('runs') === 'run\n', vm);
    machine().cutPower();
    await new Promise((resolve) => vm.once('exit', resolve));
    expect(await under.list()).toHaveLength(1);
    expect(await ended(under.reboot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(saved('runs')).toBe('run\nrun\n');
    expect(await under.list()).toEqual([]);
  });

  it('runs on when the command that carries its output is killed', async () => {
    const script =
      'echo begun; touch "$DROPFORGE_OUTPUT_DIR/begun"; while [ ! -e "$DROPFORGE_OUTPUT_DIR/go" ]; do sleep 0.1; done; sleep 3; echo done; exit 5';
    const vm = under.boot({ image: await shell(), argv: ['sh', '-c', script] });
    await until(() => saved('begun') !== undefined, vm);
    const { stdout } = await promisify(execFile)('ps', ['axww', '-o', 'pid=,command=']);
    const clients = stdout.split('\n').filter((line) => / start --attach dropforge-/.test(line));
    const own = clients.filter((line) =>
      readFileSync(`/proc/${Number.parseInt(line, 10)}/environ`, 'utf8').includes(`@${machine().home}`),
    );
    expect(own).toHaveLength(1);
    process.kill(Number.parseInt(own[0] ?? '', 10), 'SIGKILL');
    await writeFile(join(machine().home, 'output', 'go'), '');
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 5 });
    expect(logged('stdout')).toContain('done');
  });

  it('has every line of a fast program in its log', async () => {
    const script = 'i=0; while [ $i -lt 20000 ]; do echo "line $i of a log that is written quickly"; i=$((i+1)); done';
    const vm = under.boot({
      image: await shell(),
      argv: ['sh', '-c', script],
      change: ({ limits }) => ({ limits: { ...limits, logBytesMax: 50_000_000 } }),
    });
    expect(await ended(vm)).toMatchObject({ exitCode: 0 });
    const folded = logged('agent').map((line) => Number(/^(\d+) lines .* are folded/.exec(line ?? '')?.[1] ?? 0));
    expect(logged('stdout').length + folded.reduce((sum, count) => sum + count, 0)).toBe(20_000);
    expect(logged('stdout').at(-1)).toMatch(/^line 19999 /);
  });

  it('leaves what an engine writes to its working directory, as Podman does after a memory kill, to its VM', async () => {
    const docker = findProgram('docker');
    await machine().install('docker', `[ "$1" != start ] || : > oom-test\nexec ${docker} "$@"`);
    expect(await ended(under.boot({ image: await shell(), argv: ['sh', '-c', 'true'] }))).toMatchObject({
      exitCode: 0,
    });
    expect([await readdir(machine().home), await readdir('.')]).toEqual([
      expect.arrayContaining(['oom-test']),
      expect.not.arrayContaining(['oom-test']),
    ]);
  });

  if (limited !== null) {
    it('is out of memory when the kernel kills it at the limit of its VM', async () => {
      const image = await shell();
      // An endless line, which busybox keeps in memory.
      const vm = under.boot({ image, argv: ['sh', '-c', 'exec tail /dev/zero'] });
      await limited.add(vm.pid);
      expect(await ended(vm)).toMatchObject({ reason: 'OUT_OF_MEMORY', signal: 9 });
      expect(await under.list()).toEqual([]);
    });
  }
}
