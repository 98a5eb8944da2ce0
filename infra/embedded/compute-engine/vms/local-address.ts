import { createHash } from 'node:crypto';
import type { ClusterMember } from '#shared/use-cases/provision/vm-settings.ts';

/** Below the ephemeral ports of operating systems, and above the ports that services commonly use. */
const PROGRAM_PORTS = { first: 20_000, count: 10_000 };
const AGENT_PORTS = { first: 30_000, count: 2_500 };

/**
 * The address of the program of a VM of this machine for the others of its job. All share one IP address, so each has a
 * port of its own, derived from job, attempt and position. Two concurrent jobs of N replicas have a port in common with
 * a probability of 1 in 5,000 / N.
 */
export function localAddressOf(member: ClusterMember): string {
  return addressIn(PROGRAM_PORTS, digestOf(member) + member.position);
}

/** The address of the agent of a job's master for the agents of the others: a port that no program has. */
export function localPeerAddressOf(master: ClusterMember): string {
  return addressIn(AGENT_PORTS, digestOf(master));
}

function digestOf({ jobId, attempt }: ClusterMember): number {
  return createHash('sha256').update(`${jobId}/${attempt}`).digest().readUInt32BE();
}

function addressIn({ first, count }: typeof PROGRAM_PORTS, offset: number): string {
  return `127.0.0.1:${first + (offset % count)}`;
}
