import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

export type Target = { readonly vmName: string; readonly instanceId: string };

type Fault = {
  readonly of: 'master' | 'other';
  readonly inject: (cloud: CloudUnderTest, target: Target) => Promise<void>;
};

const act =
  (action: string) =>
  async (cloud: CloudUnderTest, { vmName }: Target) => {
    const response = await cloud.act(`/vms/${vmName}:${action}`);
    if (!response.ok) {
      throw new Error(`${action} of ${vmName}: ${response.status} ${await response.text()}`);
    }
  };

const directoryOf = ({ dataDir }: CloudUnderTest, { vmName, instanceId }: Target) =>
  join(dataDir, 'vms', `${vmName}-${instanceId}`);

async function killAgent(cloud: CloudUnderTest, target: Target): Promise<void> {
  const pid = await readFile(join(directoryOf(cloud, target), 'disk', 'agent.pid'), 'utf8');
  process.kill(Number.parseInt(pid, 10), 'SIGKILL');
}

/** Kills the process that trains: the last one, if a launcher has started it. */
async function killTrainer(cloud: CloudUnderTest, target: Target): Promise<void> {
  const lines = await findMarkedProcesses(cloud.dataDir);
  const isTrainer = (line: string) =>
    line.includes(`${directoryOf(cloud, target)}/`) && /^\s*\d+ \S*python\S* (-u )?-m programs\.main/.test(line);
  const pid = Math.max(...lines.filter(isTrainer).map((line) => Number.parseInt(line, 10)));
  if (!Number.isFinite(pid)) {
    throw new Error(`${target.vmName} runs no program.`);
  }
  process.kill(pid, 'SIGKILL');
}

/** The faults, by the names that the command line takes. */
export const FAULTS = {
  'preempted-master': { of: 'master', inject: act('preempt') },
  'preempted-worker': { of: 'other', inject: act('preempt') },
  reset: { of: 'other', inject: act('reset') },
  'host-error': { of: 'other', inject: act('hostError') },
  'killed-agent': { of: 'other', inject: killAgent },
  'killed-trainer': { of: 'other', inject: killTrainer },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
