import type { JobFacts } from '#shared/diagnosis/job-facts.ts';

/** For a job of which only the id is known. */
export function factsOf(jobId: string): JobFacts {
  return {
    jobId,
    args: [],
    machine: null,
    bootDiskGib: null,
    usage: null,
    health: [],
    warnings: [],
    moreGpuMemory: [],
    moreMemory: [],
  };
}
