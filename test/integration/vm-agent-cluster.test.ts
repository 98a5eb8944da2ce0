import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { configure, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const TRAINS = "print('trained')\n";

const phases = (): readonly Heartbeat['phase'][] => cloud().heartbeats.map(({ phase }) => phase);

const beats = (phase: Heartbeat['phase']) => phases().filter((said) => said === phase).length;

it('a program of a cluster starts when the control plane knows that all of its machines exist, and not before', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({ command: beats('WAITING') < 4 ? 'WAIT' : 'CONTINUE', reason: null });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(phases().indexOf('RUNNING')).toBeGreaterThan(phases().lastIndexOf('WAITING'));
  expect(beats('WAITING')).toBeGreaterThanOrEqual(4);
});

it('a program that is alone waits for no word', async () => {
  configure(cloud(), [await makeSdist(TRAINS)]);
  cloud().answerHeartbeat = ({ exit }) =>
    exit === null ? new Response('later', { status: 503 }) : { command: 'CONTINUE', reason: null };

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  expect(phases()).not.toContain('WAITING');
});

it('a replica that waits for its cluster stops when it is told to, and has run nothing', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({ command: beats('WAITING') < 2 ? 'WAIT' : 'STOP', reason: 'A zone is full.' });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'STOPPED', exitCode: null });

  expect(phases()).not.toContain('RUNNING');
});

it('a replica whose cluster never comes ends with its time for setting up, and costs a new attempt', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], ({ limits }) => ({
    replicaCount: 2,
    limits: { ...limits, setupSeconds: 3 },
  }));
  cloud().answerHeartbeat = () => ({ command: 'WAIT', reason: null });

  const report = await ended(machine().boot());

  expect(report).toMatchObject({ reason: 'STOPPED', exitCode: null });
  expect(report.message).toContain('machines of the cluster');
  expect(phases()).not.toContain('RUNNING');
});

it('a replica that boots again while it waits goes on waiting, and trains once', async () => {
  configure(cloud(), [await makeSdist(TRAINS)], () => ({ replicaCount: 2 }));
  cloud().answerHeartbeat = () => ({ command: 'WAIT', reason: null });
  const first = machine().boot();
  await until(() => beats('WAITING') > 1, first);
  machine().cutPower();
  await once(first, 'exit');
  const before = beats('WAITING');
  cloud().answerHeartbeat = () => ({ command: beats('WAITING') < before + 2 ? 'WAIT' : 'CONTINUE', reason: null });

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  const trained = cloud().logEntries.filter(({ textPayload }) => textPayload === 'trained');
  expect(trained).toHaveLength(1);
});
