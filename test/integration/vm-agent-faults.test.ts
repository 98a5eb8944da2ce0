import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { createMachine } from '../support/agent/vm-agent-local-machine.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, exited, ended } = startMachineForEachTest();

function saved(name: string): string | undefined {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
}

/** Appends the attempt to `starts`, and runs until SIGTERM, on which it writes a checkpoint. */
const WAITS = `
import os, signal, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
def checkpoint(number, frame):
    open(out + '/checkpoint', 'w').write('saved on SIGTERM')
    sys.exit(0)
signal.signal(signal.SIGTERM, checkpoint)
with open(out + '/starts', 'a') as file:
    file.write(os.environ['DROPFORGE_ATTEMPT'])
while not os.path.exists(out + '/go'):
    time.sleep(0.02)
`;

function isRunning(): boolean {
  return saved('starts') !== undefined;
}

describe('a VM that is stopped', () => {
  it('lets the program save its work when the control plane answers STOP', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    cloud().answerHeartbeat = () => ({ command: isRunning() ? 'STOP' : 'CONTINUE', reason: 'The job was cancelled.' });
    const report = await ended(machine().boot());
    expect(report).toMatchObject({
      reason: 'STOPPED',
      message: 'The control plane stopped this replica: The job was cancelled.',
    });
    expect(saved('checkpoint')).toBe('saved on SIGTERM');
  });

  it('lets the program save its work on a preemption notice', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    const vm = machine().boot();
    await until(isRunning, vm);
    cloud().preempt();
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', exitCode: 0 });
    expect(saved('checkpoint')).toBe('saved on SIGTERM');
  });

  it('forwards the SIGTERM of a shutdown through the startup script', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    const vm = machine().boot();
    await until(isRunning, vm);
    vm.kill('SIGTERM');
    expect(await ended(vm)).toMatchObject({ reason: 'STOPPED', message: 'The VM was shut down.', exitCode: 0 });
    expect(saved('checkpoint')).toBe('saved on SIGTERM');
  });

  it('ends a running package installation', async () => {
    const setup = "import time\nprint('building', flush=True)\ntime.sleep(600)\n";
    configure(cloud(), [await makeSdist('', { setup: `# cmdclass\n${setup}` })]);
    cloud().answerHeartbeat = ({ phase }) => ({ command: phase === 'INSTALLING' ? 'STOP' : 'CONTINUE', reason: null });
    expect(await ended(machine().boot())).toMatchObject({ reason: 'STOPPED' });
  });
});

describe('a VM whose control plane is unreachable', () => {
  it('says so in one line, and in one that it answers again', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    let failures = 0;
    cloud().answerHeartbeat = () => {
      failures += isRunning() && failures < 6 ? 1 : 0;
      return failures > 0 && failures < 6
        ? new Response('busy', { status: 503 })
        : { command: 'CONTINUE', reason: null };
    };
    const vm = machine().boot();
    await until(() => failures === 6, vm);
    writeFileSync(join(machine().home, 'output', 'go'), '');
    await ended(vm);

    const lines = cloud().logEntries.map(({ textPayload }) => textPayload ?? '');
    expect(lines.filter((line) => /heartbeat was/.test(line))).toEqual([expect.stringContaining('503')]);
    expect(lines.filter((line) => /answers again/.test(line))).toEqual([expect.stringContaining('after 5 heartbeats')]);
  });

  it('stops the program, saves its output and powers off after the control-plane timeout', async () => {
    configure(cloud(), [await makeSdist(WAITS)], ({ limits }) => ({
      limits: { ...limits, controlPlaneTimeoutSeconds: 1.5 },
    }));
    cloud().answerHeartbeat = () => new Response('no', { status: isRunning() ? 503 : 403 });
    await exited(machine().boot());
    expect(saved('checkpoint')).toBe('saved on SIGTERM');
    expect(cloud().heartbeats.at(-1)?.exit).toMatchObject({ reason: 'STOPPED' });
  });

  it('retries the last heartbeat until it is answered', async () => {
    configure(cloud(), [await makeSdist("print('done')\n")]);
    let refusals = 0;
    cloud().answerHeartbeat = ({ exit }) => {
      refusals += exit !== null && refusals < 3 ? 1 : 0;
      const isRefused = exit !== null && cloud().heartbeats.filter((one) => one.exit !== null).length <= 3;
      return isRefused ? new Response('later', { status: 503 }) : { command: 'CONTINUE', reason: null };
    };
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(refusals).toBe(3);
  });
});

describe('a VM that reboots with the same disk', () => {
  it('continues the program from the output on the disk, with increasing sequence numbers', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    const first = machine().boot();
    await until(isRunning, first);
    machine().cutPower();
    await once(first, 'exit');
    cloud().put(BUCKET, `${JOB_DIR}/go`, { body: '' });
    const second = machine().boot();
    await until(() => saved('starts') === '11', second);
    cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'enough' });
    expect(await ended(second)).toMatchObject({ reason: 'STOPPED' });
    const sequences = cloud().heartbeats.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
    const boots = cloud().heartbeats.map(({ reboot }) => reboot?.count ?? 0);
    expect([...new Set(boots)]).toEqual([0, 1]);
  });

  it('continues with the arguments to resume if files of this attempt are saved', async () => {
    const task = WAITS.replace(
      "file.write(os.environ['DROPFORGE_ATTEMPT'])",
      "file.write(' '.join(sys.argv[1:]) + ';')",
    );
    configure(cloud(), [await makeSdist(task)], ({ spec, options }) => ({
      spec: { ...spec, args: ['--a'], passesJobDir: false },
      options: { ...options, resumeArguments: ['--resume'] },
    }));
    const first = machine().boot();
    await until(() => (saved('dropforge-manifest.json') ?? '').includes('starts'), first);
    machine().cutPower();
    await once(first, 'exit');
    writeFileSync(join(machine().home, 'output', 'go'), '');
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(saved('starts')).toBe('--a;--a --resume;');
  });

  it('does not run a program again that has ended, and delivers its report', async () => {
    configure(cloud(), [await makeSdist(`${WAITS.replace("'/go'", "'/starts'")}\nsys.exit(7)\n`)]);
    cloud().answerHeartbeat = ({ exit }) =>
      exit === null ? { command: 'CONTINUE', reason: null } : new Response('down', { status: 503 });
    const first = machine().boot();
    await until(() => cloud().heartbeats.some(({ exit }) => exit !== null), first);
    machine().cutPower();
    await once(first, 'exit');
    cloud().answerHeartbeat = () => ({ command: 'CONTINUE', reason: null });
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 7 });
    expect(saved('starts')).toBe('1');
    const heartbeatCount = cloud().heartbeats.length;
    await exited(machine().boot());
    expect(cloud().heartbeats).toHaveLength(heartbeatCount);
  });
});

/** The power fails after the program has ended, while its last files are being uploaded. */
it('a VM that reboots before the output is saved saves the working directory, too', async () => {
  const task = `
import os, time
open('checkpoint', 'w').write('1')
while not os.path.exists(os.environ['DROPFORGE_OUTPUT_DIR'] + '/go'):
    time.sleep(0.02)
open('model', 'w').write('trained')
`;
  configure(cloud(), [await makeSdist(task)]);
  const inWork = (name: string) => saved(`dropforge-workdir/${name}`);
  let refusals = 0;
  cloud().intercept = ({ method, url }) => {
    const isRefused = method === 'POST' && url.includes('model');
    refusals += isRefused ? 1 : 0;
    return isRefused ? new Response('busy', { status: 503 }) : undefined;
  };
  const first = machine().boot();
  await until(() => (saved('dropforge-manifest.json') ?? '').includes('checkpoint'), first);
  writeFileSync(join(machine().home, 'output', 'go'), '');
  await until(() => refusals > 1 && cloud().heartbeats.some(({ phase }) => phase === 'UPLOADING'), first);
  machine().cutPower();
  await once(first, 'exit');
  cloud().intercept = () => undefined;

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(inWork('model')).toBe('trained');
  const manifest = JSON.parse(saved('dropforge-manifest.json') ?? '');
  expect(Object.keys(manifest.files)).toEqual(['dropforge-workdir/checkpoint', 'dropforge-workdir/model', 'go']);
});

describe('an attempt', () => {
  it('starts from the output of the last one', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    const first = machine().boot();
    await until(isRunning, first);
    vmStop();
    await exited(first);
    cloud().answerHeartbeat = () => ({ command: saved('starts') === '12' ? 'STOP' : 'CONTINUE', reason: null });
    configure(cloud(), [await makeSdist(WAITS)], ({ spec }) => ({ spec: { ...spec, attempt: 2 } }));
    const next = await createMachine(cloud());
    try {
      await once(next.boot(), 'exit');
    } finally {
      await next.remove();
    }
    expect(saved('starts')).toBe('12');
    expect(JSON.parse(saved('dropforge-manifest.json') ?? '').attempt).toBe(2);
  });

  it('is fenced by a later one, whose output it never replaces', async () => {
    configure(cloud(), [await makeSdist(WAITS)]);
    const vm = machine().boot();
    await until(isRunning, vm);
    const later = { 'dropforge-job': 'digits_1', 'dropforge-attempt': '2' };
    cloud().put(BUCKET, `${JOB_DIR}/dropforge-manifest.json`, { body: '{}', metadata: later });
    cloud().put(BUCKET, `${JOB_DIR}/checkpoint`, { body: 'of attempt 2', metadata: later });
    vm.kill('SIGTERM');
    const report = await ended(vm);
    expect(report.reason).toBe('STOPPED');
    expect(report.message).toBe('Attempt 2 of the job has taken over the job directory.');
    expect(saved('checkpoint')).toBe('of attempt 2');
  });
});

it('another job can write to a directory that was left by a later attempt of an older job', async () => {
  const older = { 'dropforge-job': 'an_older_job', 'dropforge-attempt': '7' };
  const manifest = { jobId: 'an_older_job', attempt: 7, completeTo: null, files: {} };
  cloud().put(BUCKET, `${JOB_DIR}/dropforge-manifest.json`, { body: JSON.stringify(manifest), metadata: older });
  cloud().put(BUCKET, `${JOB_DIR}/result`, { body: 'of the older job', metadata: older });
  const task = "import os\nopen(os.environ['DROPFORGE_OUTPUT_DIR'] + '/result', 'w').write('of this job')\n";
  configure(cloud(), [await makeSdist(task)]);

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(saved('result')).toBe('of this job');
});

function vmStop(): void {
  cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'make room' });
}

describe('servers that fail intermittently', () => {
  it('cause no loss of output or log lines, and no entry gets a second insertId', async () => {
    const task = `
import os
for number in range(300):
    print('line', number)
for number in range(5):
    open(os.environ['DROPFORGE_OUTPUT_DIR'] + f'/file-{number}', 'w').write(str(number))
open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/big', 'wb').write(bytes(20_000_000))
`;
    configure(cloud(), [await makeSdist(task)]);
    let calls = 0;
    cloud().intercept = ({ url }) => {
      calls += 1;
      return calls % 3 === 0 && !url.includes('/computeMetadata') ? new Response('busy', { status: 503 }) : undefined;
    };
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect([0, 1, 2, 3, 4].map((number) => saved(`file-${number}`))).toEqual(['0', '1', '2', '3', '4']);
    expect(cloud().objects.get(`${BUCKET}/${JOB_DIR}/big`)?.body).toHaveLength(20_000_000);
    const lines = cloud().logEntries.filter(({ labels }) => labels.stream === 'stdout');
    expect(lines.map(({ textPayload }) => textPayload)).toEqual(
      Array.from({ length: 300 }, (_, number) => `line ${number}`),
    );
    expect(new Set(cloud().logEntries.map(({ insertId }) => insertId)).size).toBe(cloud().logEntries.length);
  });

  it('turn a success into a failure if results could not be saved', async () => {
    const task = "import os\nopen(os.environ['DROPFORGE_OUTPUT_DIR'] + '/model', 'w').write('m')\n";
    // Enough for a first try on a busy machine: what is not tried in this time has no answer to report.
    configure(cloud(), [await makeSdist(task)], ({ limits }) => ({ limits: { ...limits, uploadSeconds: 5 } }));
    cloud().intercept = ({ url, method }) =>
      method === 'POST' && url.includes('name=digits%2Fmodel')
        ? Response.json({ error: { code: 403, message: 'No permission.' } }, { status: 403 })
        : undefined;
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'JOB_DIR_UNWRITABLE', exitCode: 0 });
    expect(report.message).toContain('model: Cloud Storage answered 403: No permission.');
  });
});

describe('an internal error of the agent', () => {
  it('is reported with its traceback', async () => {
    configure(cloud(), [await makeSdist("print('never run')\n")]);
    cloud().intercept = ({ url, method }) =>
      method === 'POST' && url.includes('/upload/') ? Response.json({}) : undefined;
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'AGENT_FAILED', exitCode: null });
    expect(report.evidence.at(-1)).toBe("KeyError: 'bucket'");
  });
});
