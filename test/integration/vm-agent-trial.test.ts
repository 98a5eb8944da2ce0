import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { eventFileOf } from '../support/agent/event-file.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { createMachine } from '../support/agent/vm-agent-local-machine.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const METRICS = ['accuracy', 'loss', 'epoch_loss', 'printed'];

/** Waits for the file `go`, so that the test decides what happens before and after. */
const WAITS = `
import json, os, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
def wait(name):
    while not os.path.exists(out + '/' + name):
        time.sleep(0.02)
`;

/** Configures the third trial of a tuning. */
function asTrial({ spec, intervals }: VmConfig, change: Partial<VmConfig> = {}): Partial<VmConfig> {
  const trial = { trialId: '3', metricIds: METRICS };
  return { intervals: { ...intervals, syncSeconds: 600 }, ...change, spec: { ...(change.spec ?? spec), trial } };
}

function writeOutput(name: string, content: string | Buffer): void {
  const path = join(machine().home, 'output', name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
}

/** All values of a metric that were reported, by step. */
function reported(metric: string, heartbeats: readonly Heartbeat[] = cloud().heartbeats) {
  const all = heartbeats.flatMap(({ measurements }) => measurements ?? []);
  return Object.fromEntries(all.flatMap(({ step, values }) => (metric in values ? [[step, values[metric]]] : [])));
}

const isReported = (metric: string) => Object.keys(reported(metric)).length > 0;

describe('a trial', () => {
  it('is told its id where both services tell it, and its directories', async () => {
    const task = `
import json, os
config = json.loads(os.environ['TF_CONFIG'])
names = ('CLOUD_ML_TRIAL_ID', 'AIP_MODEL_DIR', 'AIP_CHECKPOINT_DIR', 'AIP_TENSORBOARD_LOG_DIR')
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/seen', 'w') as file:
    seen = [os.environ[name] for name in names]
    output = os.environ['DROPFORGE_OUTPUT_DIR']
    json.dump([config['task'], *(path.replace(output, 'OUTPUT') for path in seen)], file)
`;
    configure(cloud(), [await makeSdist(task)], asTrial);
    await ended(machine().boot());
    const base = `gs://${BUCKET}/${JOB_DIR}`;
    expect(JSON.parse(cloud().objects.get(`${BUCKET}/${JOB_DIR}/seen`)?.body.toString() ?? '')).toEqual([
      { type: 'chief', index: 0, trial: '3' },
      '3',
      `${base}/model/`,
      `${base}/checkpoints/`,
      // A path that every writer of event files can open.
      'OUTPUT/logs/',
    ]);
  });

  it('reports all values of its metrics, from every source, by the time its exit is answered', async () => {
    const task = `${WAITS}
path = os.environ['CLOUD_ML_HP_METRIC_FILE']
lines = []
for step in range(1, 131):
    for tag in ('accuracy', 'other'):
        lines.append(json.dumps({'timestamp': time.time(), 'trial': '3', tag: str(step / 200), 'global_step': str(step)}))
    with open(path, 'w') as file:
        file.write('\\n'.join(lines[-100:]) + '\\n')
    # The file keeps 50 steps, which a busy machine must read in time.
    time.sleep(0.04)
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write('{"step": 1, "loss": 0.5, "accuracy": 9}\\n{"step": 2, "loss": NaN}\\n')
wait('go')
print('{"step": 7, "printed": 0.75}')
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write('{"step": 3, "loss": 0.125}\\n')
`;
    configure(cloud(), [await makeSdist(task)], asTrial);
    const vm = machine().boot();
    await until(() => isReported('loss'), vm);
    writeOutput('logs/validation/events.out.tfevents.1.host', eventFileOf('epoch_loss', [0.5, 0.25]));
    cloud().put(BUCKET, `${JOB_DIR}/logs/train/events.out.tfevents.2.host`, { body: eventFileOf('printed', [9]) });
    await until(() => isReported('epoch_loss'), vm);
    writeOutput('go', '');

    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(Object.keys(reported('accuracy')).length).toBeGreaterThan(100);
    expect(reported('accuracy')).toMatchObject({ 1: 0.005, 130: 0.65 });
    expect(reported('loss')).toEqual({ 1: 0.5, 2: 'NaN', 3: 0.125 });
    expect(reported('epoch_loss')).toEqual({ 1: 0.5, 2: 0.25 });
    // TensorFlow's own object in the bucket; a heartbeat may have had what the program printed before.
    expect(reported('printed')).toMatchObject({ 1: 9 });
    expect(reported('other')).toEqual({});
  });

  it('repeats measurements until a heartbeat is answered, and sends none twice after that', async () => {
    const task = `${WAITS}
with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
    file.write('{"step": 1, "loss": 0.5}\\n')
wait('go')
`;
    configure(cloud(), [await makeSdist(task)], asTrial);
    let lost = 0;
    cloud().answerHeartbeat = ({ measurements }) => {
      lost += measurements === undefined ? 0 : 1;
      const isLost = measurements !== undefined && lost <= 3;
      return isLost ? new Response('busy', { status: 503 }) : { command: 'CONTINUE', reason: null };
    };
    const vm = machine().boot();
    await until(() => lost === 4, vm);
    const answered = cloud().heartbeats.length;
    await until(() => cloud().heartbeats.length > answered + 2, vm);
    writeOutput('go', '');
    await ended(vm);

    const withSome = cloud().heartbeats.filter(({ measurements }) => measurements !== undefined);
    expect(withSome.map(({ measurements }) => measurements?.map(({ step }) => step))).toEqual([[1], [1], [1], [1]]);
  });
});

describe('reports without a step', () => {
  /** Reports three values, one with AI Platform's library, then saves how often it has, and fails. */
  const REPORTS = `
import json, os, sys
checkpoint = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'done')
done = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0
lines = []
for number in range(done + 1, done + 4):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write(json.dumps({'loss': number}) + '\\n')
    lines.append(json.dumps({'timestamp': number, 'trial': '3', 'accuracy': str(number), 'global_step': '0'}))
    with open(os.environ['CLOUD_ML_HP_METRIC_FILE'], 'w') as file:
        file.write('\\n'.join(lines) + '\\n')
SAVE
sys.exit(1)
`;

  async function runAttempts(task: string): Promise<void> {
    const sdist = await makeSdist(task);
    configure(cloud(), [sdist], asTrial);
    await ended(machine().boot());
    for (const attempt of [2, 3]) {
      const next = await createMachine(cloud());
      try {
        configure(cloud(), [sdist], (config) => asTrial(config, { spec: { ...config.spec, attempt } }));
        await once(next.boot(), 'exit');
      } finally {
        await next.remove();
      }
    }
  }

  it('are numbered on from the checkpoint with which each later attempt begins', async () => {
    await runAttempts(REPORTS.replace('SAVE', "open(checkpoint, 'w').write(str(done + 3))"));
    const numbers = Array.from({ length: 9 }, (_, index) => index + 1);
    expect(reported('loss')).toEqual(Object.fromEntries(numbers.map((number) => [number, number])));
    // Google's library counts from 0.
    expect(reported('accuracy')).toEqual(Object.fromEntries(numbers.map((number) => [number - 1, number])));
  });

  it('are numbered from the start by an attempt that begins without a checkpoint', async () => {
    await runAttempts(REPORTS.replace('SAVE', ''));
    expect(reported('loss')).toEqual({ 1: 1, 2: 2, 3: 3 });
    expect(reported('accuracy')).toEqual({ 0: 1, 1: 2, 2: 3 });
  });
});

describe('a trial that is stopped early', () => {
  const SAVES_AT_THE_END = `${WAITS}
import signal, sys
def save(*_):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write('{"step": 2, "loss": 0.25}\\n')
    for name in ('first', 'second'):
        open(out + '/' + name, 'w').write(name)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(out + '/started', 'w').close()
wait('never')
`;

  it('reports its last metrics and saves its output as after its own end, not only as long as an orphan', async () => {
    configure(cloud(), [await makeSdist(SAVES_AT_THE_END)], (config) =>
      asTrial(config, { limits: { ...config.limits, controlPlaneTimeoutSeconds: 2, uploadSeconds: 600 } }),
    );
    const reason = 'Trial 3 of tuning digits is stopped early. Its outputs are saved.';
    const hasStarted = () => existsSync(join(machine().home, 'output', 'started'));
    cloud().answerHeartbeat = () =>
      hasStarted() ? { command: 'STOP', reason, isEarlyStop: true } : { command: 'CONTINUE', reason: null };
    let firstRejectionAt: number | undefined;
    cloud().intercept = ({ method, url }) => {
      const isUpload = method === 'POST' && url.includes(`name=${JOB_DIR}%2Fsecond&`);
      firstRejectionAt = isUpload ? (firstRejectionAt ?? Date.now()) : firstRejectionAt;
      return isUpload && Date.now() - (firstRejectionAt ?? 0) < 4_000
        ? Response.json({ error: { code: 403, message: 'No permission.' } }, { status: 403 })
        : undefined;
    };

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'STOPPED', exitCode: 0 });
    expect(report.message).toBe(`The control plane stopped this replica: ${reason}`);
    expect(cloud().objects.get(`${BUCKET}/${JOB_DIR}/second`)?.body.toString()).toBe('second');
    expect(reported('loss')).toEqual({ 2: 0.25 });
  });
});
