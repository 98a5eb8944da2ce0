import type { ClusterMember } from '#shared/use-cases/provision/vm-settings.ts';

/** Below the ephemeral ports of operating systems, and above the ports that services commonly use. */
const PORT_FIRST = 20_000;
const JOBS_COUNT = 500;
const PORTS_PER_JOB = 20;

/**
 * The address of a VM of this machine for the other VMs of its job. All share one IP address, so each has a port of its
 * own, derived from job, attempt and position. Two concurrent jobs get the same ports with a probability of 1 in 500.
 */
export function localAddressOf({ jobId, attempt, position }: ClusterMember): string {
  const text = `${jobId}/${attempt}`;
  const sum = [...text].reduce((hash, character) => (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003, 7);
  return `127.0.0.1:${PORT_FIRST + (sum % JOBS_COUNT) * PORTS_PER_JOB + (position % PORTS_PER_JOB)}`;
}
