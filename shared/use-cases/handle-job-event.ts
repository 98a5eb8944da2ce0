import type { Effect } from '#shared/domain/effect.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { jobEntryOf } from '#shared/domain/history.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import { handleEvent, type Machine } from '#shared/machine/machine.ts';
import type { JobFacts, JobStore } from '#shared/ports/job-store.ts';
import { usageOf } from '#shared/use-cases/limits/vm-usage.ts';
import { type MachinePorts, submittedMachine } from '#shared/use-cases/submitted-machine.ts';

export type EventPorts = MachinePorts & { readonly jobs: JobStore };

/** The machine of jobs. With `limits`, an event by which a job would exceed them is not handled. */
export function jobMachine(ports: EventPorts, limits?: VmLimits): Machine<Job, JobEvent, Effect, JobFacts> {
  return submittedMachine<Job, JobEvent, Effect, JobFacts>(ports, {
    name: 'Job',
    records: ports.jobs,
    idOf: ({ jobId }) => jobId,
    transition(before, event) {
      const { job, effects } = transition(before, event, ports.timeouts);
      return { record: job, effects, usage: usageOf(job), limits };
    },
    deadlineOf: (jobId, wake) => ({ type: 'DEADLINE_PASSED', jobId, ...wake }),
    entryOf: jobEntryOf,
  });
}

/** Handles an event of a job (`handleEvent`); returns the job afterwards, or undefined if it does not exist. */
export async function handleJobEvent(ports: EventPorts, event: JobEvent, limits?: VmLimits): Promise<Job | undefined> {
  return handleEvent(jobMachine(ports, limits), event);
}
