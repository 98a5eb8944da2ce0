import { describe, expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

/** Far less than the programs below take to save, so that only the notice can give them the time. */
const STOP_GRACE_SECONDS = 0.2;

/** Says that it is there, and on SIGTERM does what the test wants of it. */
function waits(onTermination: string): string {
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

const NEVER_ENDS = "open(out + '/told', 'w').close()";

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
  it('has the time of the notice to save its work, however short the ordinary grace', async () => {
    const vm = await preempt(waits(SAVES_FOR_A_SECOND), 120);
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', exitCode: 0 });
    expect(saved('checkpoint')).toBe('saved');
  });

  it('is killed in time for the final save', async () => {
    const vm = await preempt(waits(NEVER_ENDS), 1);
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', signal: 9 });
    expect(saved('told')).toBe('');
  });

  it('has the ordinary grace left when the VM is shut down before the notice is over', async () => {
    const vm = await preempt(waits(NEVER_ENDS), 3_600);
    await until(() => saved('told') !== undefined, vm);
    vm.kill('SIGTERM');
    expect(await ended(vm)).toMatchObject({ reason: 'PREEMPTED', signal: 9 });
  });
});
