import type { ReplicaId } from '#shared/domain/job.ts';

const SLUG_CHARACTERS_MAX = 24;

/**
 * Name of a replica's VM, derived from job, attempt, role and index, so that creating it twice creates one VM. A job id
 * is not a valid instance name (uppercase, underscores, 128 characters), so it is represented by a readable slug and a
 * hash. At most 63 characters of `[a-z]([-a-z0-9]*[a-z0-9])?`, as Compute Engine requires.
 */
export function vmNameOf(jobId: string, attempt: number, replica: ReplicaId): string {
  const slug = jobId.toLowerCase().replaceAll('_', '-').slice(0, SLUG_CHARACTERS_MAX).replace(/-+$/, '');
  return `df-${slug}-${hashOf(jobId)}-a${attempt}-${replica.role}-${replica.index}`;
}

/** FNV-1a, 64 bits, in 13 base-36 digits: distinguishes job ids with the same slug. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of text) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100000001b3n);
  }
  return hash.toString(36).padStart(13, '0');
}
