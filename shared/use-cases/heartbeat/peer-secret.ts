import { createHmac } from 'node:crypto';
import { type Job, replicasOf } from '#shared/domain/job.ts';
import type { DeploymentKey } from '#shared/ports/deployment-key.ts';
import type { HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';

export type PeerPorts = { readonly deploymentKey: DeploymentKey };

/**
 * Adds the secret with which the agents of the job's current attempt speak to each other; not for a job with one
 * replica, nor with STOP. It is derived, so that it is stored nowhere; the time of submission distinguishes jobs that
 * had the same id.
 */
export async function withPeerSecret(
  { deploymentKey }: PeerPorts,
  { jobId, attempt, createdAt, spec }: Pick<Job, 'jobId' | 'attempt' | 'createdAt' | 'spec'>,
  answer: HeartbeatAnswer,
): Promise<HeartbeatAnswer> {
  if (answer.command === 'STOP' || replicasOf(spec).length === 1) {
    return answer;
  }
  const hmac = createHmac('sha256', await deploymentKey.read());
  return { ...answer, peerSecret: hmac.update([jobId, attempt, createdAt].join('\0')).digest('hex') };
}
