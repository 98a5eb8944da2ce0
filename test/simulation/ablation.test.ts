import { expect, it } from 'vitest';
import { surviveSeed } from './survive-seed.ts';
import type { Mechanism } from './world-faults.ts';

/** A rare race needs many worlds; the search ends at the first that goes wrong. */
const SEEDS_MAX = 1_500;

const ABLATED: readonly { readonly mechanism: Mechanism; readonly promise: string }[] = [
  { mechanism: 'wakeDueJobs', promise: 'jobs wait for ever when nobody wakes those that are due' },
  { mechanism: 'publishOutbox', promise: 'effects stay owed when nobody pays for the dead' },
  { mechanism: 'fencing', promise: 'an attempt that is over decides the job when it is not fenced off' },
  { mechanism: 'sweep', promise: 'late VMs stay when nobody sweeps' },
  { mechanism: 'duplicateCheck', promise: 'a refusal counts twice when handled events are forgotten' },
  {
    mechanism: 'firstWord',
    promise: 'a worker that never boots holds its job up when its first word is not waited for',
  },
  { mechanism: 'wholeClusters', promise: 'a program runs before its cluster is there when its agent does not wait' },
  { mechanism: 'leases', promise: 'a silent VM holds its job up when leases do not end' },
];

it.each(ABLATED)(
  '$promise',
  async ({ mechanism }) => {
    let broken: readonly string[] = [];
    for (let seed = 1; seed <= SEEDS_MAX && broken.length === 0; seed += 1) {
      broken = await surviveSeed(seed, [mechanism]);
    }
    expect(broken, `the simulation stays green without ${mechanism}: it proves nothing about it`).not.toEqual([]);
  },
  120_000,
);
