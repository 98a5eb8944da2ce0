import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { JobIn } from '#shared/domain/job.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { CreateOutcome, Vm, VmRequest } from '#shared/ports/vm-provider.ts';
import { type ProvisionPorts, provision } from '#shared/use-cases/provision/provision.ts';
import { simulatedSettings } from '../../simulation/simulated-job.ts';
import { noLog } from '../collected-log.ts';
import { noUpdates } from './updates.ts';

/** The provision stage over the embedded stores, with a VM provider that the test defines. */
export function openProvision() {
  const database = openDatabase(':memory:');
  const cloud = {
    requests: [] as VmRequest[],
    deleted: [] as string[],
    objects: new Map<string, ObjectInfo>(),
    /** Requested pauses in milliseconds. */
    pauses: [] as number[],
    answer: (_: VmRequest): CreateOutcome => ({ outcome: 'CREATED', instanceId: String(cloud.requests.length) }),
    /** The VM that is found under every name. */
    vm: undefined as Vm | undefined,
    vmLimits: {} as VmLimits,
    deletion: 'GONE' as 'GONE' | 'DELETING',
    findShortage: (_: readonly VmRequest[]): VmCreateFailure | undefined => undefined,
    /** The VM that is found under a name. */
    find: (_: string): Vm | undefined => cloud.vm,
  };
  const ports: ProvisionPorts = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    capacity: openSqliteCapacityHistory(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    objects: { stat: async ({ bucket, name }) => cloud.objects.get(`gs://${bucket}/${name}`) },
    timeouts: TIMEOUTS,
    logger: noLog,
    vms: {
      create: async (request) => {
        cloud.requests.push(request);
        return cloud.answer(request);
      },
      findShortage: async (requests) => cloud.findShortage(requests),
      find: async ({ vmName }) => cloud.find(vmName),
      delete: async ({ vmName }) => {
        cloud.deleted.push(vmName);
        return cloud.deletion;
      },
    },
  };
  const context = (now: number) => ({
    now,
    settings: { ...simulatedSettings, vmLimits: cloud.vmLimits },
    pause: async (ms: number) => void cloud.pauses.push(ms),
  });
  return {
    cloud,
    ports,
    deliver: (jobId: string, now: number, { replicas = ports.replicas, attempt = 1, placementRound = 1 } = {}) =>
      provision({ ...ports, replicas }, { jobId, attempt, placementRound }, context(now)),
    readJob: async (jobId: string) => (await ports.jobs.read(jobId))?.record as JobIn<'PREPARING'>,
    close: () => database.close(),
  };
}

export type ProvisionUnderTest = ReturnType<typeof openProvision>;
