import { expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, exited, ended } = startMachineForEachTest();

/** Writes a checkpoint when it is told to end, and does not end before. */
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

it('an agent whose output nobody reads any more goes on, and says how it ended', async () => {
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

it('the shutdown script ends only when the agent has saved the work and said so', async () => {
  const vm = await bootAndRun();

  await machine().stopServices('shutdown.target start waiting');

  expect(saved('checkpoint')).toBe('saved on SIGTERM');
  const exit = { reason: 'STOPPED', message: 'The VM was shut down.', exitCode: 0 };
  expect(cloud().heartbeats.at(-1)).toMatchObject({ phase: 'EXITED', exit });
  await exited(vm);
});

it('the shutdown script ends nothing while the system goes on: packages that are updated run it, too', async () => {
  const vm = await bootAndRun();

  await machine().stopServices('No jobs running.');

  cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'enough' });
  expect(await ended(vm)).toMatchObject({ message: 'The control plane said stop: enough' });
});

it('the shutdown script does not wait where no agent has run', async () => {
  await machine().stopServices('shutdown.target start waiting');
});
