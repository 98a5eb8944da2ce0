import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { configure, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const TRAINS = "print('trained')\n";

const phases = (): readonly Heartbeat['phase'][] => cloud().heartbeats.map(({ phase }) => phase);

const heartbeatCount = (phase: Heartbeat['phase']) => phases().filter((reported) => reported === phase).length;

it('a program of a cluster starts only after the control plane has confirmed that all VMs of the cluster exist', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({ command: heartbeatCount('WAITING') < 4 ? 'WAIT' : 'CONTINUE', reason: null });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(phases().indexOf('RUNNING')).toBeGreaterThan(phases().lastIndexOf('WAITING'));
  expect(heartbeatCount('WAITING')).toBeGreaterThanOrEqual(4);
});

it('a program on a single VM starts without an answer from the control plane', async () => {
  configure(cloud(), [await makeSdist(TRAINS)]);
  cloud().answerHeartbeat = ({ exit }) =>
    exit === null ? new Response('later', { status: 503 }) : { command: 'CONTINUE', reason: null };

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(phases()).not.toContain('WAITING');
});

it('a replica that waits for its cluster obeys a STOP, and has not run its program', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({
    command: heartbeatCount('WAITING') < 2 ? 'WAIT' : 'STOP',
    reason: 'A zone is full.',
  });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'STOPPED', exitCode: null });

  expect(phases()).not.toContain('RUNNING');
});

it('a replica whose cluster is never confirmed ends when its setup time is over, so that a new attempt starts', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], ({ limits }) => ({
    replicaCount: 2,
    limits: { ...limits, setupSeconds: 3 },
  }));
  cloud().answerHeartbeat = () => ({ command: 'WAIT', reason: null });

  const report = await ended(machine().boot());

  expect(report).toMatchObject({ reason: 'STOPPED', exitCode: null });
  expect(report.message).toContain('VMs of the cluster');
  expect(phases()).not.toContain('RUNNING');
});

it('a replica that reboots while it waits continues to wait, and trains once', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({ command: 'WAIT', reason: null });
  const first = machine().boot();
  await until(() => heartbeatCount('WAITING') > 1, first);
  machine().cutPower();
  await once(first, 'exit');
  const before = heartbeatCount('WAITING');
  cloud().answerHeartbeat = () => ({
    command: heartbeatCount('WAITING') < before + 2 ? 'WAIT' : 'CONTINUE',
    reason: null,
  });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  const trained = cloud().logEntries.filter(({ textPayload }) => textPayload === 'trained');
  expect(trained).toHaveLength(1);
});
