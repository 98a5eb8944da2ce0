import { describe, expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

/** Much less than the programs below take to save, so that they finish only within the notice. */
const STOP_GRACE_SECONDS = 0.2;

/** A program that writes `on`, and executes `onTermination` on SIGTERM. */
function untilTerminated(onTermination: string): string {
  return `
import os, signal, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
def end(number, frame):
    ${onTermination}
signal.signal(signal.SIGTERM, end)
open(out + '/on', 'w').close()
while True:
    time.sleep(0.02)
`;
}

const SAVES_FOR_A_SECOND = "time.sleep(1); open(out + '/checkpoint', 'w').write('saved'); sys.exit(0)";

const NEVER_ENDS = "open(out + '/signaled', 'w').close()";

function saved(name: string): string | undefined {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
}

async function preempt(task: string, preemptionNoticeSeconds: number) {
  configure(cloud(), [await makeSdist(task)], ({ limits }) => ({
    limits: { ...limits, stopGraceSeconds: STOP_GRACE_SECONDS, preemptionNoticeSeconds },
  }));
  const vm = machine().boot();
  await until(() => saved('on') !== undefined, vm);
  cloud().preempt();
  return vm;
}

describe('a program on a VM that is preempted', () => {
  it('can use the time of the notice to save its work, even if the default grace period is shorter', async () => {
    const vm = await preempt(untilTerminated(SAVES_FOR_A_SECOND), 120);
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', exitCode: 0 });
    expect(saved('checkpoint')).toBe('saved');
  });

  it('is reported as interrupted at the notice, before it has saved its work', async () => {
    const vm = await preempt(untilTerminated(SAVES_FOR_A_SECOND), 120);
    await until(() => cloud().heartbeats.some(({ notice }) => notice !== undefined), vm);
    const first = cloud().heartbeats.find(({ notice }) => notice !== undefined);
    expect(first).toMatchObject({ phase: 'RUNNING', notice: { isStopping: true, message: expect.any(String) } });
    expect(first?.notice?.secondsLeft).toBeGreaterThan(100);
    expect(saved('checkpoint')).toBeUndefined();
    await ended(vm);
    const last = cloud().heartbeats.at(-1);
    expect(last).toMatchObject({ phase: 'EXITED', notice: { isStopping: true } });
    expect(Math.abs(Date.now() - (last?.programEnd?.at ?? 0))).toBeLessThan(60_000);
  });

  it('is killed early enough for the final save', async () => {
    const vm = await preempt(untilTerminated(NEVER_ENDS), 1);
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', signal: 9 });
    expect(saved('signaled')).toBe('');
  });

  it('gets the default grace period when the VM is shut down before the notice is over', async () => {
    const vm = await preempt(untilTerminated(NEVER_ENDS), 3_600);
    await until(() => saved('signaled') !== undefined, vm);
    vm.kill('SIGTERM');
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', signal: 9 });
  });
});

describe('a program on a VM with notice of host maintenance', () => {
  it('goes on with its output saved at once, and is stopped while there is time to save the rest', async () => {
    const task = `
import os, signal, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
def end(number, frame):
    open(out + '/last', 'w').write('saved')
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(out + '/checkpoint', 'w').write('saved')
print('on', flush=True)
while True:
    time.sleep(0.02)
`;
    configure(cloud(), [await makeSdist(task)], ({ intervals }) => ({ intervals: { ...intervals, syncSeconds: 16 } }));
    const vm = machine().boot();
    const isOn = () => cloud().logEntries.some(({ textPayload }) => textPayload === 'on');
    await until(isOn, vm);
    expect(saved('checkpoint')).toBeUndefined();
    cloud().maintain(16);
    const notices = () => cloud().heartbeats.flatMap(({ notice }) => (notice === undefined ? [] : [notice.isStopping]));
    await until(() => saved('checkpoint') === 'saved' && notices().length > 0, vm);
    expect(notices()).not.toContain(true);
    expect(saved('last')).toBeUndefined();

    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', exitCode: 0 });
    expect(saved('last')).toBe('saved');
    expect(notices()).toContain(true);
    expect(Date.now()).toBeLessThan(cloud().maintenanceAt ?? 0);
  });
});
