import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, storeAgent, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist, makeZip } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

function saved(name: string): string | undefined {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
}

function logged(stream: string): readonly (string | undefined)[] {
  return cloud()
    .logEntries.filter((entry) => entry.labels.stream === stream)
    .map((entry) => entry.textPayload);
}

const TRAINS = `
import json, os, sys
job_dir = [arg for arg in sys.argv if arg.startswith('--job-dir=')][0].partition('=')[2]
os.makedirs(job_dir + '/export', exist_ok=True)
with open(job_dir + '/export/model.json', 'w') as file:
    json.dump({'args': sys.argv[1:], 'tf': json.loads(os.environ['TF_CONFIG']), 'job': os.environ['CLOUD_ML_JOB_ID']}, file)
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write('{"step": 3, "steps": 10, "loss": 0.25}\\n')
print('training done')
print(json.dumps({'severity': 'WARNING', 'message': 'structured'}))
print('to stderr', file=sys.stderr)
`;

describe('a program that ends', () => {
  it('saves its model, logs, metrics and exit report, and the VM powers off', async () => {
    configure(cloud(), [await makeSdist(TRAINS)]);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 0, signal: null });
    expect(report.savedNothing).toBeUndefined();
    const model = JSON.parse(saved('export/model.json') ?? '');
    expect(model).toMatchObject({
      args: ['--epochs', '2', '--job-dir=gs://jobs/digits'],
      job: 'digits_1',
      tf: {
        cluster: { chief: ['df-digits-a1-master-0:2222'] },
        task: { type: 'chief', index: 0 },
        environment: 'cloud',
      },
    });
    expect(logged('stdout')).toContain('training done');
    expect(logged('stderr')).toContain('to stderr');
    expect(cloud().heartbeats.at(-1)?.progress).toEqual({ step: 3, stepsMax: 10, metrics: { loss: 0.25 } });
  });

  it('reports that its loss became NaN and that it saved nothing', async () => {
    const task = `
import os
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write('{"step": 6, "loss": 0.25}\\n{"step": 7, "loss": NaN}\\n{"step": 8, "loss": NaN}\\n')
`;
    configure(cloud(), [await makeSdist(task)]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0, savedNothing: true });
    expect(cloud().heartbeats.at(-1)?.progress).toEqual({
      step: 8,
      stepsMax: null,
      metrics: {},
      nonFinite: { loss: { value: 'NaN', step: 7 } },
    });
  });

  it('does not report that it saved nothing if it says that it saved its model in another bucket', async () => {
    configure(cloud(), [await makeSdist('print("Saved the model to gs://models/digits/1")\n')]);
    expect((await ended(machine().boot())).savedNothing).toBeUndefined();
  });

  it('has the files that it wrote to its working directory in the job directory', async () => {
    const task = `
import os
os.makedirs('outputs/run 1')
open('outputs/run 1/best.ckpt', 'w').write('x' * 5000)
open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/model', 'w').write('saved')
`;
    configure(cloud(), [await makeSdist(task)]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const saved = cloud().objects.get(`${BUCKET}/${JOB_DIR}/dropforge-workdir/outputs/run 1/best.ckpt`);
    expect(saved?.body.length).toBe(5_000);
  });

  it('has all of its lines logged, including JSON that only Python accepts', async () => {
    const task = `
import json
print('before')
print(json.dumps({'message': 'epoch 1', 'loss': float('nan')}))
print('after')
`;
    configure(cloud(), [await makeSdist(task)]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(logged('stdout')).toEqual(['before', '{"message": "epoch 1", "loss": NaN}', 'after']);
  });

  it('reports the exit code with the last lines of stderr as evidence', async () => {
    configure(cloud(), [
      await makeSdist("import sys\nprint('before', file=sys.stderr)\nraise ValueError('x12 must not be 10')\n"),
    ]);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 1, signal: null });
    expect(report.evidence[0]).toBe('before');
    expect(report.evidence.at(-1)).toBe('ValueError: x12 must not be 10');
  });

  it('reports the signal of a program that was killed', async () => {
    configure(cloud(), [await makeSdist('import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n')]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: null, signal: 9 });
  });

  it.each([
    ['with its layout', {}],
    ['of a job that v0.1.0 accepted', { layout: null }],
  ])('runs a plain source tree %s without a build', async (_, change) => {
    const task = "import trainer.answer\nprint('answer', trainer.answer.VALUE)\n";
    const sources = { 'trainer/__init__.py': '', 'trainer/task.py': task, 'trainer/answer.py': 'VALUE = 42\n' };
    configure(cloud(), [makeZip(sources)], ({ packages }) => ({
      packages: packages.map((one) => ({ ...one, ...change })),
    }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(logged('stdout')).toContain('answer 42');
  });

  it('saves changed files while it runs, and the manifest lists exactly the files that exist', async () => {
    const task = `
import os, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
open(out + '/step-1', 'w').write('one')
while not os.path.exists(out + '/go'):
    time.sleep(0.02)
os.remove(out + '/step-1')
open(out + '/step-2', 'w').write('two')
os.symlink('/etc/passwd', out + '/leak')
open(out + '/big', 'wb').write(bytes(range(256)) * 40000)
`;
    configure(cloud(), [await makeSdist(task)]);
    const vm = machine().boot();
    await until(() => saved('step-1') === 'one', vm);
    await writeFile(join(machine().home, 'output', 'go'), '');
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const manifest = JSON.parse(saved('dropforge-manifest.json') ?? '');
    expect(manifest.attempt).toBe(1);
    expect(Object.keys(manifest.files).sort()).toEqual(['big', 'go', 'step-2']);
    expect(saved('big')?.length).toBeGreaterThan(8_388_608);
    expect(cloud().objects.get(`${BUCKET}/${JOB_DIR}/big`)?.body).toHaveLength(10_240_000);
    expect(saved('leak')).toBeUndefined();
  });
});

describe('a program that misbehaves', () => {
  it('leaves no descendants, even if they left its session and hold its output open', async () => {
    const task = `
import os, subprocess, sys, time
child = 'import os, time; os.setsid(); open(os.environ["DROPFORGE_OUTPUT_DIR"] + "/child-" + str(os.getpid()), "w"); time.sleep(600)'
subprocess.Popen([sys.executable, '-c', child])
subprocess.Popen([sys.executable, '-c', child], env={'DROPFORGE_OUTPUT_DIR': os.environ['DROPFORGE_OUTPUT_DIR']})
while len(os.listdir(os.environ['DROPFORGE_OUTPUT_DIR'])) < 2:
    time.sleep(0.01)
`;
    configure(cloud(), [await makeSdist(task)]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const names = [...cloud().objects.values()]
      .map(({ name }) => /child-(\d+)$/.exec(name)?.[1])
      .filter((pid) => pid !== undefined);
    expect(names).toHaveLength(2);
    for (const pid of names) {
      expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
    }
  });

  it('is stopped after maxRunningSeconds, with SIGKILL after the grace period if it ignores SIGTERM', async () => {
    const task = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('on')\ntime.sleep(600)\n";
    configure(cloud(), [await makeSdist(task)], ({ limits }) => ({
      limits: { ...limits, maxRunningSeconds: 0.7, stopGraceSeconds: 0.3 },
    }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'MAX_RUNNING_TIME', signal: 9 });
  });

  it('is stopped when it exceeds its disk limit', async () => {
    const task = "import time\nopen('filler', 'wb').write(bytes(60_000_000))\ntime.sleep(600)\n";
    configure(cloud(), [await makeSdist(task)], ({ limits }) => ({ limits: { ...limits, diskBytesMax: 30_000_000 } }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'DISK_FULL', signal: 15 });
  });

  it('prints a gigabyte without a newline in bounded memory, and its last output is still evidence', async () => {
    const task = `
import os, sys
block = b'x' * 1_048_576
for _ in range(1024):
    sys.stdout.buffer.write(block)
sys.stdout.buffer.write(b'the end')
sys.stdout.flush()
status = open(f'/proc/{os.getppid()}/status').read() if os.path.exists('/proc') else 'VmHWM: 0 kB'
open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/agent-memory', 'w').write(status)
sys.exit(3)
`;
    configure(cloud(), [await makeSdist(task)]);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 3 });
    expect(report.evidence.at(-1)).toMatch(/xthe end$/);
    expect(logged('agent').some((line) => /reached its limit of 2000000 bytes/.test(line ?? ''))).toBe(true);
    expect(logged('stdout').at(-1)).toMatch(/xthe end$/);
    const peakKib = Number(/VmHWM:\s+(\d+)/.exec(saved('agent-memory') ?? '')?.[1]);
    expect(peakKib).toBeLessThan(100_000);
  });
});

describe('a program that prints faster than its log is shipped', () => {
  const task =
    "import sys\nfor number in range(100_000):\n    print('line', number)\nprint('the cause', file=sys.stderr)\n";

  async function logOf(stream: string): Promise<string> {
    const prefix = `${BUCKET}/${JOB_DIR}/dropforge-logs/digits_1/attempt-1-master-0-`;
    const parts = cloud()
      .objects.keys()
      .filter((path) => path.startsWith(prefix) && path.endsWith(`-${stream}.log.gz`));
    return parts.map((path) => gunzipSync(cloud().objects.get(path)?.body ?? '').toString()).join('');
  }

  const ALL = Array.from({ length: 100_000 }, (_, number) => `line ${number}\n`).join('');

  it('has every line in the complete log, and every line shipped or counted', async () => {
    configure(cloud(), [await makeSdist(task)]);
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(await logOf('stdout')).toBe(ALL);
    const counts = logged('agent').map((line) =>
      Number(/^(\d+) lines .* of stdout are folded/.exec(line ?? '')?.[1] ?? 0),
    );
    const shipped = logged('stdout');
    expect(shipped.length + counts.reduce((sum, count) => sum + count, 0)).toBe(100_000);
    expect(shipped.length).toBeLessThan(10_000);
    expect(shipped.at(-1)).toBe('line 99999');
    expect(logged('stderr')).toEqual(['the cause']);
    const manifest = JSON.parse(saved('dropforge-manifest.json') ?? '');
    expect(Object.keys(manifest.files)).toEqual([]);
  });

  it('has every line in the complete log although the log service rejects all of them', async () => {
    configure(cloud(), [await makeSdist(task.replace('100_000', '100'))]);
    cloud().intercept = ({ url }) =>
      url.endsWith('/v2/entries:write')
        ? Response.json({ error: { code: 403, message: 'The caller does not have permission' } }, { status: 403 })
        : undefined;
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(await logOf('stdout')).toBe(ALL.split('line 100\n')[0]);
  });
});

/** No server listens on this port. */
const NO_INDEX = { PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_CONFIG_FILE: '/dev/null' };

describe('a job that cannot start', () => {
  it('reports a package that differs from what was validated', async () => {
    configure(cloud(), [await makeSdist(TRAINS)], ({ packages }) => ({
      packages: packages.map((one) => ({ ...one, crc32c: 'AAAAAA==' })),
    }));
    const report = await ended(machine().boot());
    expect(report.reason).toBe('PACKAGE_UNREADABLE');
    expect(report.evidence[0]).toMatch(/CRC32C of the download is .+, not AAAAAA==/);
  });

  it('reports a package that was deleted', async () => {
    configure(cloud(), [await makeSdist(TRAINS)], ({ packages }) => ({
      packages: packages.map((one) => ({ ...one, generation: '1' })),
    }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'PACKAGE_UNREADABLE', exitCode: null });
  });

  it('names the missing requirement and the unreachable index', async () => {
    configure(cloud(), [await makeSdist(TRAINS, { requires: 'no-such-package-anywhere>=7\n' })]);
    const report = await ended(machine().boot(NO_INDEX));
    expect(report).toMatchObject({ reason: 'SERVICE_UNREACHABLE', unreachableHost: '127.0.0.1:9' });
    expect(report.evidence.at(-1)).toBe('Cloud Storage answered this VM, and 127.0.0.1:9 did not.');
    expect(report.message).toBe(
      'pip could not install the package: requirement no-such-package-anywhere>=7 is missing. ' +
        'The package index http://127.0.0.1:9/simple could not be reached from the VM.',
    );
  });

  it('names no single host if Cloud Storage did not answer either', async () => {
    configure(cloud(), [await makeSdist(TRAINS, { requires: 'no-such-package-anywhere>=7\n' })]);
    const reads: string[] = [];
    cloud().intercept = ({ method, url }) => {
      const isRead = method === 'GET' && url.includes('dropforge-manifest.json') && reads.push(url) > 1;
      return isRead ? Response.json({ error: { code: 503, message: 'Not now.' } }, { status: 503 }) : undefined;
    };
    const report = await ended(machine().boot(NO_INDEX));
    expect(report.reason).toBe('SERVICE_UNREACHABLE');
    expect(report.unreachableHost).toBeUndefined();
    expect(report.evidence.at(-1)).toContain('answered 503');
  });

  it('names the build backend that the machine lacks, and the host from which it would come', async () => {
    const pyproject = '[build-system]\nrequires = ["no-such-backend"]\nbuild-backend = "no_such_backend"\n';
    const project = '[project]\nname = "trainer"\nversion = "1"\ndependencies = []\n';
    const files = { 'pyproject.toml': `${pyproject}${project}`, 'trainer/__init__.py': '', 'trainer/task.py': TRAINS };
    configure(cloud(), [makeZip(files)]);
    const report = await ended(machine().boot(NO_INDEX));
    expect(report).toMatchObject({ reason: 'SERVICE_UNREACHABLE', unreachableHost: '127.0.0.1:9' });
    expect(report.message).toContain('no_such_backend is missing');
  });

  it('reports that the bucket of the job directory does not exist, before anything runs', async () => {
    configure(cloud(), [await makeSdist(TRAINS)], ({ spec }) => ({
      spec: { ...spec, jobDir: 'gs://no-such-bucket/out' },
    }));
    const report = await ended(machine().boot());
    expect(report.reason).toBe('JOB_DIR_UNWRITABLE');
    expect(report.evidence[0]).toMatch(/^Cloud Storage answered 404: The bucket no-such-bucket does not exist\./);
    expect(cloud().heartbeats.some(({ phase }) => phase === 'RUNNING')).toBe(false);
  });

  it.each([
    ['a field that is missing', ({ health: _, ...config }: object & { health?: unknown }) => config, 'has no health'],
    ['an unknown field', (config: object) => ({ ...config, zone: 'b' }), 'has an unknown field zone'],
  ])('reports %s in its configuration, which was not written with its agent', async (_, change, problem) => {
    const config = configure(cloud(), [await makeSdist(TRAINS)]);
    cloud().attributes['dropforge-config'] = JSON.stringify(change(config));
    const report = await ended(machine().boot());
    expect(report.reason).toBe('AGENT_FAILED');
    expect(report.message).toBe(
      `dropforge-config ${problem}: it was not written with this agent. ` +
        'Deploy the control plane and the agent in the same version.',
    );
  });

  it('powers off if the agent is not valid Python', async () => {
    storeAgent(cloud(), Buffer.from('#!/usr/bin/env python3\nbroken'));
    const vm = machine().boot();
    await once(vm, 'exit');
    expect(machine().isPoweredOff()).toBe(true);
  });
});
