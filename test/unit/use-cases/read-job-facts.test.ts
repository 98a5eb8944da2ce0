import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import { heartbeatSchema } from '#shared/protocol/heartbeat.ts';
import { readJobFacts } from '#shared/use-cases/heartbeat/read-job-facts.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const GOLDEN = new URL('../../../shared/protocol/golden/heartbeat-running.json', import.meta.url);
const heartbeat = heartbeatSchema.parse(JSON.parse(readFileSync(GOLDEN, 'utf8')));

function factsFor(change: Partial<ReplicaGroup>) {
  const job = queuedJob();
  const [master] = job.spec.replicaGroups;
  const replicaGroups = [{ ...master, role: heartbeat.role, ...change }] as const;
  return readJobFacts({ ...job, spec: { ...job.spec, replicaGroups } }, heartbeat);
}

describe('the facts of a job for its diagnosis', () => {
  it('have the machine of the replica, its measurements and the arguments of its program', () => {
    const facts = factsFor({ machineType: 'n1-standard-8', accelerator: null });
    expect(facts).toMatchObject({ machine: { machineType: 'n1-standard-8' }, usage: heartbeat.usage });
    expect(facts.args).toEqual(queuedJob().spec.program.args);
  });

  it('name twice the GPUs, and the GPU with the next larger memory, on machines that can have them', () => {
    const accelerator = { type: 'nvidia-tesla-t4', count: 1 };
    const { moreGpuMemory } = factsFor({ machineType: 'n1-standard-8', accelerator });
    expect(moreGpuMemory[0]).toBe('2 x nvidia-tesla-t4 on n1-standard-16');
    expect(moreGpuMemory[1]).toMatch(/^1 x nvidia-\S+ on \S+$/);
    expect(moreGpuMemory[1]).not.toContain('t4');
  });

  it('have the GPUs that a machine type includes', () => {
    const { machine, moreGpuMemory } = factsFor({ machineType: 'a2-highgpu-1g', accelerator: null });
    expect(machine?.accelerator).toEqual({ type: 'nvidia-tesla-a100', count: 1 });
    expect(moreGpuMemory[0]).toBe('2 x nvidia-tesla-a100 on a2-highgpu-2g');
  });

  it('name the next machine type of the family with more memory, and none for a machine that is not known', () => {
    const [more] = factsFor({ machineType: 'n1-standard-8', accelerator: null }).moreMemory;
    expect(more).toMatch(/^n1-\S+ \(\d+(?:\.\d+)? GiB\)$/);
    expect(factsFor({ machineType: 'z9-mega-1', accelerator: null })).toMatchObject({
      moreMemory: [],
      moreGpuMemory: [],
    });
  });
});
