import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect } from 'vitest';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import { type Cloud, startCloud } from './vm-agent-cloud.ts';
import { createMachine, type Machine } from './vm-agent-local-machine.ts';

/** Starts a fake cloud and one machine for each test of a file; returns helpers that wait for the machine's exit. */
export function startMachineForEachTest() {
  let startedCloud: Cloud;
  let createdMachine: Machine;
  const cloud = () => startedCloud;
  const machine = () => createdMachine;

  beforeEach(async () => {
    startedCloud = await startCloud();
    createdMachine = await createMachine(startedCloud);
  });

  afterEach(async () => {
    await createdMachine.remove();
    await startedCloud.close();
    expect(startedCloud.faults).toEqual([]);
  });

  async function exited(child: ChildProcess): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      await once(child, 'exit');
    }
    expect(machine().isPoweredOff()).toBe(true);
  }

  async function ended(child: ChildProcess): Promise<ExitFacts> {
    await exited(child);
    const last = cloud().heartbeats.at(-1);
    expect(last?.phase).toBe('EXITED');
    if (last?.exit == null) {
      throw new Error('The last heartbeat has no exit report.');
    }
    return last.exit;
  }

  return { cloud, machine, exited, ended };
}
