import { ROLES, type Role } from '#shared/domain/replica-name.ts';
import {
  type AcceleratorDraft,
  emptyPool,
  type JobDraft,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import type { Kind } from '#shared/job-file/fields/kind.ts';
import { part, property } from '#shared/job-file/fields/table.ts';

/** Fields of the parts of a draft that several formats have. */
export const inJob = property<JobDraft>();
export const inPool = property<PoolDraft>();

export const ofProgram = part<PoolDraft, ProgramDraft>((pool, change) => {
  const program = change(pool.program);
  return program === pool.program ? pool : { ...pool, program };
});

export const ofAccelerator = part<PoolDraft, AcceleratorDraft>((pool, change) => {
  const accelerator = change(pool.accelerator);
  return accelerator === pool.accelerator ? pool : { ...pool, accelerator };
});

export const inProgram = property<ProgramDraft>();
export const inAccelerator = property<AcceleratorDraft>();

/**
 * Fields of the pool of a role, which is added with the first of them; `path` is that of its missing fields' parent.
 */
export function ofRole(role: Role, path = '') {
  return part<JobDraft, PoolDraft>((draft, change) => {
    const known = draft.pools.find((pool) => pool.role === role) ?? emptyPool(role, path);
    const changed = change(known);
    const others = draft.pools.filter((pool) => pool.role !== role);
    return changed === known
      ? draft
      : { ...draft, pools: [...others, changed].sort((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role)) };
  });
}

export const ofMaster = ofRole('master');

/** A field of the master's program, which all pools run that have no program of their own. */
export function inMasterProgram<Key extends keyof ProgramDraft>(key: Key, kind: Kind<ProgramDraft[Key]>) {
  return ofMaster(ofProgram(inProgram(key, kind)));
}
