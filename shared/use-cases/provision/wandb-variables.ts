import { createHash } from 'node:crypto';
import { type Job, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';

/** Weights & Biases accepts ids of 64 characters; the hash and the longest replica take 25 of them. */
const ID_CHARACTERS_OF_JOB = 39;

type SubmittedJob = Pick<Job, 'jobId' | 'createdAt' | 'trial' | 'spec'>;

/**
 * The variables by which Weights & Biases continues one run of each replica over all attempts, and groups those of a
 * cluster or tuning. The id contains a hash, since another deployment can have a job of this name.
 */
export function wandbVariablesOf(job: SubmittedJob, replica: ReplicaId, projectId: string): Record<string, string> {
  const { jobId, createdAt, trial, spec } = job;
  const hash = createHash('sha256').update(`${projectId}/${spec.jobDir}/${jobId}/${createdAt}`).digest('hex');
  const isMaster = replica.role === 'master' && replica.index === 0;
  const isCluster = replicasOf(spec).length > 1;
  return {
    WANDB_RUN_ID: `${jobId.slice(0, ID_CHARACTERS_OF_JOB)}-${hash.slice(0, 8)}${isMaster ? '' : `-${replicaName(replica)}`}`,
    WANDB_RESUME: 'allow',
    ...((trial !== null || isCluster) && { WANDB_RUN_GROUP: trial?.tuningId ?? jobId }),
  };
}
