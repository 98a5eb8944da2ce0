import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

/**
 * Exchanges steps with the other replicas over sockets, and exits with status 1 at once if one of them is gone. Without
 * a checkpoint it trains until it is interrupted, and with one it takes some more steps and ends.
 */
const TRAINS_TOGETHER = `
import json, os, socket, sys, time
config = json.loads(os.environ['TF_CONFIG'])
host, port = config['cluster']['chief'][0].rsplit(':', 1)
checkpoint = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'checkpoint.json')
first = json.load(open(checkpoint))['step'] if os.path.exists(checkpoint) else 0
end = first + 5 if first else 10**9

def receive(peer):
    try:
        message = peer.recv(16, socket.MSG_WAITALL)
    except OSError:
        message = b''
    if not message:
        sys.exit('connection closed')
    return int(message)

def send(peer, step):
    try:
        peer.sendall(b'%16d' % step)
    except OSError:
        sys.exit('connection closed')

def lead():
    server = socket.create_server((host, int(port)))
    workers = [server.accept()[0] for _ in range(int(os.environ['WORLD_SIZE']) - 1)]
    for step in range(first + 1, end + 1):
        for worker in workers:
            send(worker, -1 if step == end else step)
        for worker in workers:
            receive(worker)
        with open(checkpoint + '.tmp', 'w') as file:
            json.dump({'step': step}, file)
        os.replace(checkpoint + '.tmp', checkpoint)
        time.sleep(0.02)

def follow():
    for _ in range(1_500):
        try:
            chief = socket.create_connection((host, int(port)))
            break
        except OSError:
            time.sleep(0.02)
    else:
        sys.exit('The chief was never there.')
    step = 0
    while step >= 0:
        step = receive(chief)
        if step == 5 and os.environ.get('FAILING_RANK') == os.environ['RANK']:
            raise ValueError('the loss of batch 5 is not a number')
        send(chief, step)

lead() if config['task']['type'] == 'chief' else follow()
`;

/** Trains until it is stopped, and saves then, slowly. Every replica of the next attempt ends with what it finds. */
const SAVES_WHEN_STOPPED = `
import os, signal, sys, time
checkpoint = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'checkpoint.txt')
if os.path.exists(checkpoint):
    sys.exit(0 if open(checkpoint).read() == 'final' else 3)
if os.environ['RANK'] == '0':
    with open(checkpoint, 'w') as file:
        file.write('first')

def stop(*_):
    time.sleep(2)
    with open(checkpoint, 'w') as file:
        file.write('final')
    sys.exit(1)

signal.signal(signal.SIGTERM, stop if os.environ['RANK'] == '0' else signal.SIG_DFL)
while True:
    time.sleep(0.1)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ syncSeconds: 0.3, stopGraceSeconds: 4, preemptionNoticeSeconds: 2, vmsMax: 12 });
});
afterAll(() => cloud.stop());

async function submit(jobId: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const job = { name: jobId, module: 'trainer.task', workers: 2, env };
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(TRAINS_TOGETHER, job));
}

function readCheckpoint(jobId: string): Promise<string | undefined> {
  return cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/checkpoint.json`);
}

it.each([
  { fault: 'preemption', action: 'preempt', replica: 'worker-0', cause: 'PREEMPTED' },
  { fault: 'preemption', action: 'preempt', replica: 'master-0', cause: 'PREEMPTED' },
  { fault: 'reset', action: 'reset', replica: 'worker-1', cause: 'VM_TERMINATED' },
] as const)(
  'a cluster continues in a new attempt after a $fault of $replica, although its peers exit with status 1',
  async ({ action, replica, cause }) => {
    const jobId = `${action}_${replica.replace('-', '_')}`;
    await submit(jobId);
    const checkpoint = await until('a checkpoint', () => readCheckpoint(jobId));
    const running = await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
    const member = running.replicas.find((each) => each.replica === replica);

    expect((await cloud.act(`/vms/${member?.vmName}:${action}`)).ok).toBe(true);

    const ended = await cloud.awaitJob(jobId);
    expect(ended).toMatchObject({ state: 'SUCCEEDED', attempt: 2, attempts: [{ cause }, { cause: null }] });
    expect(stepOf(await readCheckpoint(jobId))).toBeGreaterThan(stepOf(checkpoint));
    expect(JSON.stringify(await cloud.readLog(jobId))).toContain('connection closed');
    expect(await cloud.listVms()).toEqual([]);
  },
);

it('a healthy master saves its last checkpoint after the loss of a worker, and every replica continues from it', async () => {
  const jobId = 'saves_when_stopped';
  const job = { name: jobId, module: 'trainer.task', workers: 1 };
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(SAVES_WHEN_STOPPED, job));
  await until('a checkpoint', () => cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/checkpoint.txt`));
  const running = await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
  const worker = running.replicas.find(({ replica }) => replica === 'worker-0');

  expect((await cloud.act(`/vms/${worker?.vmName}:preempt`)).ok).toBe(true);

  expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED', attempt: 2 });
});

it('a cluster with an exception in one replica fails with its traceback, although its peers exit too', async () => {
  await submit('raising', { FAILING_RANK: '2' });

  const { state, attempt, cause } = await cloud.awaitJob('raising');
  expect({ state, attempt }).toEqual({ state: 'FAILED', attempt: 1 });
  expect(cause).toMatchObject({
    code: 'PROGRAM_FAILED',
    message: expect.stringMatching(/^Replica worker-1 failed first: /),
  });
  expect(cause?.evidence).toContain('Traceback (most recent call last):');
  expect(cause?.evidence.at(-1)).toBe('ValueError: the loss of batch 5 is not a number');
  expect(JSON.stringify(await cloud.readLog('raising'))).toContain('connection closed');
});

function stepOf(checkpoint: string | undefined): number {
  return (JSON.parse(checkpoint ?? '{}') as { readonly step: number }).step;
}
