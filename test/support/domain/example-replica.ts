import { type Replica, UNINTERRUPTED } from '#shared/domain/replica.ts';

/** The master of the example job after its first heartbeat. */
export function exampleReplica(): Replica {
  return {
    jobId: 'digits',
    attempt: 1,
    replica: 'master-0',
    vmName: 'df-digits-a1-master-0',
    instanceId: '101',
    sequence: 1,
    heardAt: 0,
    leaseExpiresAt: 120_000,
    phase: 'BOOTING',
    usage: { cpuFraction: 0.5, memoryBytes: 1, memoryBytesMax: 2, diskBytes: 3, diskBytesMax: 4, gpus: [] },
    progress: { step: null, stepsMax: null, metrics: {} },
    exit: null,
    ...UNINTERRUPTED,
  };
}
