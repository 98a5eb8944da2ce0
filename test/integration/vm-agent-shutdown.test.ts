import { expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, exited, ended } = startMachineForEachTest();

/** Runs until SIGTERM, on which it writes a checkpoint. */
const WAITS = `
import os, signal, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
def checkpoint(number, frame):
    open(out + '/checkpoint', 'w').write('saved on SIGTERM')
    sys.exit(0)
signal.signal(signal.SIGTERM, checkpoint)
open(out + '/started', 'w').close()
while True:
    time.sleep(0.02)
`;

function saved(name: string): string | undefined {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
}

async function bootAndRun() {
  configure(cloud(), [await makeSdist(WAITS)]);
  const vm = machine().boot();
  await until(() => saved('started') !== undefined, vm);
  return vm;
}

it('an agent whose output is closed continues, and reports its exit', async () => {
  const vm = await bootAndRun();
  machine().stopReadingOutput();
  const { length } = cloud().heartbeats;
  cloud().answerHeartbeat = () =>
    cloud().heartbeats.length <= length + 2
      ? new Response('busy', { status: 503 })
      : { command: 'STOP', reason: 'The job was cancelled.' };

  expect(await ended(vm)).toMatchObject({ reason: 'STOPPED', exitCode: 0 });

  expect(saved('checkpoint')).toBe('saved on SIGTERM');
});

it('the shutdown script ends only after the agent has saved the output and reported its exit', async () => {
  const vm = await bootAndRun();

  await machine().stopServices('shutdown.target start waiting');

  expect(saved('checkpoint')).toBe('saved on SIGTERM');
  const exit = { reason: 'STOPPED', message: 'The VM was shut down.', exitCode: 0 };
  expect(cloud().heartbeats.at(-1)).toMatchObject({ phase: 'EXITED', exit });
  await exited(vm);
});

it('the shutdown script does not stop the agent without a shutdown, as when guest packages are updated', async () => {
  const vm = await bootAndRun();

  await machine().stopServices('No jobs running.');

  cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'enough' });
  expect(await ended(vm)).toMatchObject({ message: 'The control plane stopped this replica: enough' });
});

it('the shutdown script does not wait if no agent is running', async () => {
  await machine().stopServices('shutdown.target start waiting');
});
