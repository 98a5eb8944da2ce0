import type { Target } from '#cli/client/find-target.ts';
import type { JobUpdates } from '#cli/client/follow-job.ts';
import type { Output } from '#cli/core/command.ts';

/** For the help of commands that follow a job. */
export const UPDATES_NOTE =
  'On a deployment, a subscription to job updates shows changes immediately for members of update_followers.';

type WithUpdates<T> = {
  readonly jobId: string;
  readonly stderr: Output;
  readonly follow: (updates: JobUpdates | undefined) => Promise<T>;
};

/**
 * Runs `follow` with a subscription to the job's updates, and then deletes the subscription. Passes undefined if the
 * deployment has no topic; without permission to subscribe, the job is polled.
 */
export async function withJobUpdates<T>(
  { topics, projectId }: Pick<Target, 'topics' | 'projectId'>,
  { jobId, stderr, follow }: WithUpdates<T>,
): Promise<T> {
  const topic = topics?.jobUpdates;
  if (!topic) {
    return follow(undefined);
  }
  // Loaded on demand: the client library takes half a second, and an embedded cloud does not need it.
  const { subscribeToJob } = await import('#cli/client/job-subscription.ts');
  const subscription = subscribeToJob({
    ...{ projectId, topic, jobId, endpoint: topics?.endpoint },
    onProblem: (problem) => stderr.write(`INFO: ${problem} The job is polled instead.\n`),
  });
  try {
    return await follow(subscription);
  } finally {
    await subscription.close();
  }
}
