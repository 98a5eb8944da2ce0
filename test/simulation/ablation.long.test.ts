import { expect, it } from 'vitest';
import { runSeed, type Scenario } from './run-seed.ts';
import type { Mechanism } from './world-faults.ts';

/** A rare race needs many seeds; the search ends at the first violation. */
const SEEDS_MAX = 1_500;

type Ablation = { readonly mechanism: Mechanism; readonly promise: string; readonly scenario?: Scenario };

const ABLATED: readonly Ablation[] = [
  { mechanism: 'wakeDueJobs', promise: 'jobs wait indefinitely if due jobs are not woken' },
  {
    mechanism: 'publishOutbox',
    promise: 'outbox entries of crashed processes stay unpublished if the reconciler does not publish them',
  },
  { mechanism: 'fencing', promise: 'an earlier attempt decides the job if it is not fenced off' },
  { mechanism: 'sweep', promise: 'VMs that are created late stay without the sweep' },
  { mechanism: 'duplicateCheck', promise: 'a create failure counts twice if handled events are not recorded' },
  {
    mechanism: 'bootLeases',
    promise: 'a worker that never boots blocks its job if its first heartbeat has no lease',
  },
  { mechanism: 'gangScheduling', promise: 'a program runs before its cluster exists if its agent does not wait' },
  {
    mechanism: 'holding',
    promise: 'a preempted replica fails its cluster if the failures of the others are not held',
    scenario: { isConnected: true },
  },
  {
    mechanism: 'recordedSuccess',
    promise: 'a program that has succeeded runs again if its recorded success is not looked for',
  },
  { mechanism: 'leases', promise: 'an unreachable VM blocks its job if leases do not expire' },
];

it.each(ABLATED)('$promise', async ({ mechanism, scenario }) => {
  let broken: readonly string[] = [];
  for (let seed = 1; seed <= SEEDS_MAX && broken.length === 0; seed += 1) {
    broken = await runSeed(seed, [mechanism], scenario);
  }
  expect(broken, `the simulation passes without ${mechanism}, so it does not cover it`).not.toEqual([]);
});
