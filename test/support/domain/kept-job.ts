import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { eventsFor, INSTANCE, jobAfter, queuedJob } from './example-job.ts';

const started = jobAfter(
  queuedJob({ keepOnFailureMs: 1_800_000 }),
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 2_000],
  ['REPLICA_STARTED', 3_000],
);

/** Keeps its VM for half an hour if its program fails. */
export const runningJob = {
  ...started,
  instances: [{ ...INSTANCE, vmName: vmNameOf('digits', 1, INSTANCE) }],
} as Job & {
  readonly instances: readonly { readonly vmName: string }[];
};

/** Its program failed after a minute. */
export const keptJob: Job = transition(runningJob, {
  ...eventsFor(runningJob, 60_000).REPLICA_EXITED,
  exit: { outcome: 'FAILED', cause: causeOf('PROGRAM_FAILED', 'It failed.') },
}).job;
