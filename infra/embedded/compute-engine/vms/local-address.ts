import type { ClusterMember } from '#shared/use-cases/provision/vm-request.ts';

/** Below the ports that operating systems hand out by themselves, and above those that services like to have. */
const PORT_FIRST = 20_000;
const JOBS_COUNT = 500;
const PORTS_PER_JOB = 20;

/**
 * Where a VM of this machine is found by the others of its job: all are at one address, so that each has a port of its
 * own, derived as everything is. Two jobs at once share ports in one of 500 cases.
 */
export function localAddressOf({ jobId, attempt, position }: ClusterMember): string {
  const text = `${jobId}/${attempt}`;
  const sum = [...text].reduce((hash, character) => (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003, 7);
  return `127.0.0.1:${PORT_FIRST + (sum % JOBS_COUNT) * PORTS_PER_JOB + (position % PORTS_PER_JOB)}`;
}
