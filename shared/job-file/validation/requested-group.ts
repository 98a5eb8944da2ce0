import type { Role } from '#shared/domain/job-spec.ts';
import type { AcceleratorDraft, Count, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { hasProblemAt } from '#shared/job-file/parser/record-findings.ts';
import { pathIn } from '#shared/job-file/validation/machine-fields.ts';

/** Machines of one role as a job file asks for them, whatever the dialect; each value says where it comes from. */
export type WantedGroup = {
  readonly role: Role;
  readonly count: Located<Count>;
  readonly machineType: Located<string>;
  readonly accelerator: AcceleratorDraft;
  /** What else is said about these machines. */
  readonly pool: PoolDraft;
};

/** Machines that are wanted, but not said well enough to be named: why is among the findings. */
export type Wanted = WantedGroup | 'WRONG';

/** Whether a number of replicas is one at all; otherwise that is said. A placeholder's text is left as it is. */
export function isReplicaCount(count: Located<Count>, findings: Findings): boolean {
  if (typeof count.value === 'string' || count.value >= 0) {
    return true;
  }
  const message = `${count.path} must be 0 or more, but is ${count.value}.`;
  reportInvalid(
    count,
    { code: 'INVALID_COUNT', message, remedy: 'Write how many machines there are to be.' },
    findings,
  );
  return false;
}

/** Warns of a pool that is described, and yet has no machines as long as nobody says how many. */
export function warnOfNoCount(pool: PoolDraft, { field, instead }: NoCount, findings: Findings): void {
  const said = pool.machineType ?? pool.accelerator.type ?? pool.accelerator.count ?? pool.program.imageUri;
  const place = locationOf(said ?? pool.count ?? { path: pool.path });
  const message = `${pathIn(pool, field)} is 0 or missing: ${instead}.`;
  const remedy = `Write ${field}, or remove what is said of these machines.`;
  findings.warnings.push({ code: 'POOL_WITHOUT_COUNT', message, remedy, ...place });
}

export type NoCount = { readonly field: string; readonly instead: string };

/**
 * Whether a field of the pool could not be read, or one that it stands in; then it is not missing, and that is said.
 */
export function isUnread(pool: PoolDraft, field: string, findings: Findings): boolean {
  const path = pathIn(pool, field);
  const isInUnread = findings.problems.some(
    ({ code, path: outer = '' }) =>
      code === 'WRONG_TYPE' && outer !== '' && path.startsWith(outer) && ['.', '['].includes(path.charAt(outer.length)),
  );
  return isInUnread || hasProblemAt(path, findings);
}
