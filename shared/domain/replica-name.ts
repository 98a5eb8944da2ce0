/** Every role that a replica can have, in the order of Vertex AI's worker pools. */
export const ROLES = ['master', 'worker', 'ps', 'evaluator'] as const;
export type Role = (typeof ROLES)[number];

type Group = { readonly role: string; readonly count: number };

const NAMES_SHOWN_MAX = 20;

/**
 * The replica that a name means; undefined if the job has none of that name. Names of AI Platform (`worker-replica-1`,
 * `chief-0`) and Vertex AI (`workerpool1-0`) are accepted, too.
 */
export function findReplica(groups: readonly Group[], given: string): string | undefined {
  const [, name = '', pool, index = '0'] = /^([a-z]+)(\d)?(?:-replica)?(?:-(\d{1,6}))?$/.exec(given) ?? [];
  const role = name === 'workerpool' ? ROLES[Number(pool)] : name === 'chief' ? 'master' : name;
  return groups.some((group) => group.role === role && Number(index) < group.count)
    ? `${role}-${Number(index)}`
    : undefined;
}

/**
 * The rows of the replica that stands for its job: those of the master, otherwise those of the replica in the last row.
 */
export function selectMain<Row extends { readonly replica: string }>(rows: readonly Row[]): readonly Row[] {
  const main = rows.some(({ replica }) => replica === 'master-0') ? 'master-0' : rows.at(-1)?.replica;
  return rows.filter(({ replica }) => replica === main);
}

/** The names of a job's replicas, in the order of its groups. */
export function listReplicas(groups: readonly Group[]): readonly string[] {
  return groups.flatMap(({ role, count }) => Array.from({ length: count }, (_, index) => `${role}-${index}`));
}

/** The names of a job's replicas, of which a message shows the first ones. */
export function listReplicaNames(groups: readonly Group[]): string {
  const names = listReplicas(groups);
  const rest = names.length - NAMES_SHOWN_MAX;
  return `${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${rest > 0 ? ` and ${rest} others` : ''}`;
}
