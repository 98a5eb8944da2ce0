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
