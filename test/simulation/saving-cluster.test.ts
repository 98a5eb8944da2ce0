import { expect, it } from 'vitest';
import { runSavingCluster } from './saving-cluster.ts';
import { seedCount } from './seed-count.ts';
import type { JointSetMechanism } from './simulated-cluster.ts';

const SEEDS = seedCount(2_000);

it('restores shards of one step, and never loses a set that was committed, whatever dies between two messages', () => {
  let saved = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violations, sets } = runSavingCluster(seed);
    expect(violations, `seed ${seed}`).toEqual([]);
    saved += sets.length > 0 ? 1 : 0;
  }
  // The programs of some runs save too often for their network.
  expect(saved / SEEDS).toBeGreaterThan(0.99);
});

const ABLATED: readonly { readonly mechanism: JointSetMechanism; readonly promise: string; readonly broken: RegExp }[] =
  [
    {
      mechanism: 'secondPhase',
      promise: 'shards of several steps are committed if none is compared with its snapshot again',
      broken: /restored shards/,
    },
    {
      mechanism: 'snapshots',
      promise: 'shards of several steps are committed if a set is complete once all have uploaded',
      broken: /restored shards/,
    },
    {
      mechanism: 'roundNumbers',
      promise: 'shards of several steps are committed if an answer to an earlier round counts',
      broken: /restored shards/,
    },
    {
      mechanism: 'secret',
      promise: 'a shard of an earlier attempt is committed if its agent is taken for that of the current one',
      broken: /restored shards/,
    },
    {
      mechanism: 'fence',
      promise: 'an earlier attempt replaces the set of a later one if the commit has no precondition',
      broken: /replaced the set/,
    },
    {
      mechanism: 'claimFirst',
      promise: 'the replicas restore different sets if they do not wait for the claim of their master',
      broken: /restored shards/,
    },
  ];

it.each(ABLATED)('would fail: $promise', ({ mechanism, broken }) => {
  let violations: readonly string[] = [];
  for (let seed = 1; seed <= SEEDS && !violations.some((found) => broken.test(found)); seed += 1) {
    violations = runSavingCluster(seed, [mechanism]).violations;
  }
  expect(violations).toContainEqual(expect.stringMatching(broken));
});
