import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HealthCode, HealthPolicy } from '#shared/domain/health.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { vmHealthOf } from '#shared/use-cases/provision/vm-health-of.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

function withHealth(health: HealthPolicy) {
  return ({ spec }: VmConfig): Partial<VmConfig> => ({ health: vmHealthOf(health, spec) });
}

function agentLines(): string {
  return cloud()
    .logEntries.filter(({ labels }) => labels.stream === 'agent')
    .map(({ textPayload }) => textPayload)
    .join('\n');
}

function findingsOf(code: HealthCode) {
  return cloud().heartbeats.flatMap(({ health }) => (health ?? []).filter((finding) => finding.code === code));
}

const LOSES = `
import os, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
with open(out + '/weights', 'w') as file:
    file.write('good')
for step in range(600):
    print('step', step, 'loss:', 'nan' if step > 2 else 1 / (step + 1), flush=True)
    time.sleep(0.1)
`;

/** Waits for a lock that is never released, in a thread beside the main thread. */
const HANGS = `
import threading, time
lock = threading.Lock()
lock.acquire()
def wait_for_the_lock():
    lock.acquire()
threading.Thread(target=wait_for_the_lock, daemon=True).start()
print('training begins', flush=True)
wait_for_the_lock()
`;

describe('a loss that stays NaN', () => {
  it('stops the program, whose output is saved, and says what to do', async () => {
    configure(cloud(), [await makeSdist(LOSES)]);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({
      reason: 'UNHEALTHY',
      signal: 15,
      message: expect.stringContaining('The metric log/loss = NaN at step 3'),
      evidence: expect.arrayContaining(['log/loss = NaN at step 3']),
      health: { code: 'NON_FINITE', action: 'stop', remedy: expect.stringContaining('learning rate') },
    });
    expect(cloud().objects.get(`${BUCKET}/${JOB_DIR}/weights`)?.body.toString()).toBe('good');
    expect(agentLines()).toContain('Health: NON_FINITE: The metric log/loss = NaN at step 3');
  });

  it('is only reported if the job asks for that, also by the last heartbeat', async () => {
    const task = LOSES.replace('range(600)', 'range(8)');
    configure(cloud(), [await makeSdist(task)], withHealth({ nonFinite: 'warn' }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(cloud().heartbeats.at(-1)?.health).toMatchObject([{ code: 'NON_FINITE', until: null }]);
  });

  it('is found in reported metrics as well', async () => {
    const task = `
import os, time
for step in range(600):
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write('{"step": %d, "loss": %s}\\n' % (step, 'NaN' if step else '1'))
    time.sleep(0.1)
`;
    configure(cloud(), [await makeSdist(task)]);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({
      reason: 'UNHEALTHY',
      message: expect.stringContaining('The metric loss = NaN at step 1'),
    });
  });
});

describe('a program that stalls', () => {
  it('has the stack of its main thread as evidence, and ends for a new attempt if the job asks for that', async () => {
    configure(cloud(), [await makeSdist(HANGS)], withHealth({ stalled: 'restart', stalledAfterMs: 3_000 }));
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'UNHEALTHY', health: { code: 'STALLED', action: 'restart' } });
    expect(report.evidence.join('\n')).toMatch(
      /task\.py", line 6 in wait_for_the_lock\n.*task\.py", line 9 in <module>/,
    );
    expect(agentLines()).toContain('The stacks of the program, which has stalled:');
  });

  it('goes on after the signal for its stacks, and the finding is over when it prints again', async () => {
    const task = `${HANGS.replace('wait_for_the_lock()\n', '')}
import os
while not os.path.exists(os.environ['DROPFORGE_OUTPUT_DIR'] + '/go'):
    time.sleep(0.05)
print('it goes on', flush=True)
time.sleep(3)
`.replace('training begins', 'begins');
    configure(cloud(), [await makeSdist(task)], withHealth({ stalledAfterMs: 2_000 }));
    const boot = machine().boot();
    await until(() => findingsOf('STALLED').length > 0, boot);
    writeFileSync(join(machine().home, 'output', 'go'), '');
    expect(await ended(boot)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(findingsOf('STALLED').at(-1)?.until).toEqual(expect.any(Number));
  });

  it('is not signaled if it took the signal for itself, and computing is no stall', async () => {
    const task = `
import signal, time
signal.signal(signal.SIGUSR2, lambda *_: print('the signal of the program arrived', flush=True))
end = time.monotonic() + 5
while time.monotonic() < end:
    pass
print('computed', flush=True)
time.sleep(6)
`;
    configure(cloud(), [await makeSdist(task)], withHealth({ stalledAfterMs: 3_000 }));
    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const stalls = findingsOf('STALLED');
    expect(stalls.at(-1)).toMatchObject({ evidence: [] });
    expect(new Set(stalls.map(({ since }) => since)).size).toBe(1);
    expect(cloud().logEntries.map(({ textPayload }) => textPayload)).not.toContain('the signal of the program arrived');
  });
});
