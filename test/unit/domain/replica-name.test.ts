import { expect, it } from 'vitest';
import { findReplica, listReplicaNames } from '#shared/domain/replica-name.ts';

const GROUPS = [
  { role: 'master', count: 1 },
  { role: 'worker', count: 12 },
  { role: 'evaluator', count: 1 },
];

it.each([
  ['master-0', 'master-0'],
  ['master', 'master-0'],
  ['master-replica-0', 'master-0'],
  ['chief-0', 'master-0'],
  ['worker-11', 'worker-11'],
  ['worker-replica-3', 'worker-3'],
  ['workerpool0-0', 'master-0'],
  ['workerpool1-2', 'worker-2'],
  ['workerpool3-0', 'evaluator-0'],
])('finds the replica %s, as Dropforge, AI Platform and Vertex AI name it', (given, replica) => {
  expect(findReplica(GROUPS, given)).toBe(replica);
});

it.each(['worker-12', 'ps-0', 'workerpool2-0', 'workerpool9-0', 'worker-', 'Worker-1', '', 'worker-1; rm', '-0'])(
  'finds no replica %s',
  (given) => {
    expect(findReplica(GROUPS, given)).toBeUndefined();
  },
);

it('lists the first names of a large cluster, and how many others there are', () => {
  expect(listReplicaNames(GROUPS)).toMatch(/^master-0, worker-0, worker-1, .*evaluator-0$/);
  expect(listReplicaNames([{ role: 'worker', count: 100 }])).toMatch(/, worker-19 and 80 others$/);
});
