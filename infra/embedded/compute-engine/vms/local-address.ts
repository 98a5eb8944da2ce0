import { createHash } from 'node:crypto';
import type { ClusterMember } from '#shared/use-cases/provision/vm-settings.ts';

/** All are below the ephemeral ports of operating systems, and above the ports that services commonly use. */
const PROGRAM_PORT_FIRST = 20_000;
const AGENT_PORT_FIRST = 30_000;
const AGENT_PORTS = 2_500;

/**
 * The address of the program of a VM of this machine for the others of its job. All share one IP address, so each has a
 * port of its own, derived from job, attempt and position. Two concurrent jobs of N replicas have a port in common with
 * a probability of 1 in 5,000 / N.
 */
export function localAddressOf(member: ClusterMember): string {
  const ports = AGENT_PORT_FIRST - PROGRAM_PORT_FIRST;
  return `127.0.0.1:${PROGRAM_PORT_FIRST + ((digestOf(member) + member.position) % ports)}`;
}

/** The address of the agent of a job's master for the agents of the others: a port that no program has. */
export function localPeerAddressOf(master: ClusterMember): string {
  return `127.0.0.1:${AGENT_PORT_FIRST + (digestOf(master) % AGENT_PORTS)}`;
}

function digestOf({ jobId, attempt }: ClusterMember): number {
  return createHash('sha256').update(`${jobId}/${attempt}`).digest().readUInt32BE();
}
