import { causeOf } from '#shared/domain/cause.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { CreateOutcome, Vm, VmProvider, VmRequest } from '#shared/ports/vm-provider.ts';
import type { Prng } from './prng.ts';

/**
 * A VM in the simulated Compute Engine; `bornAt` in the future means that its creation is still under way, or that it
 * is PENDING until then.
 */
export type SimulatedVm = Vm &
  ReplicaId & {
    readonly bornAt: number;
    /** It had to wait for capacity. */
    readonly hasWaited: boolean;
    readonly diesAt: number;
    readonly goneAt: number;
    readonly lastSequence: number;
  };

export type CloudFaults = {
  /** Chances per call, from 0 to 1. */
  stockout: number;
  createThrows: number;
  /** The insert times out for the caller, and the VM comes to life all the same, later. */
  createLate: number;
  deleteSlow: number;
};

/**
 * Compute Engine as the pipeline meets it: refuses, times out, creates late, deletes slowly, and counts what it did.
 */
export function createSimulatedCloud(
  prng: Prng,
  faults: CloudFaults,
  { now, isRunBounded }: { readonly now: () => number; readonly isRunBounded: boolean },
) {
  const vms = new Map<string, SimulatedVm>();
  const rejectedZones = new Set<string>();
  let nextInstanceId = 1;

  const key = ({ zone, vmName }: { readonly zone: string; readonly vmName: string }) => `${zone}/${vmName}`;

  /** One that had to wait and goes has waited for nothing, as far as anybody can tell. */
  function noteVain(vm: SimulatedVm): void {
    if (vm.hasWaited) {
      rejectedZones.add(`${vm.jobId}/${vm.attempt}/${vm.zone}`);
    }
  }

  function forget(vm: SimulatedVm): void {
    vms.delete(key(vm));
    noteVain(vm);
  }

  function settle(): void {
    for (const [name, vm] of vms) {
      if (vm.goneAt <= now() || vm.diesAt <= now()) {
        forget(vm);
      } else if (vm.status === 'PENDING' && vm.bornAt <= now()) {
        vms.set(name, { ...vm, status: 'RUNNING', goneAt: Number.POSITIVE_INFINITY });
      }
    }
  }

  const isSeen = (vm: SimulatedVm) => vm.status === 'PENDING' || vm.bornAt <= now();

  function insert(request: VmRequest, delayMs: number, waitMs: number | null = null): SimulatedVm {
    const { vmName, zone, jobId, attempt, role, index, maxRunSeconds } = request;
    const bornAt = now() + delayMs;
    const vm: SimulatedVm = {
      vmName,
      zone,
      jobId,
      attempt,
      role,
      index,
      bornAt,
      instanceId: String(nextInstanceId++),
      status: waitMs === null ? 'RUNNING' : 'PENDING',
      hasWaited: waitMs !== null,
      diesAt: isRunBounded ? bornAt + maxRunSeconds * 1_000 : Number.POSITIVE_INFINITY,
      goneAt: waitMs === null ? Number.POSITIVE_INFINITY : now() + waitMs,
      lastSequence: 0,
    };
    vms.set(key(request), vm);
    return vm;
  }

  async function create(request: VmRequest): Promise<CreateOutcome> {
    settle();
    const existing = vms.get(key(request));
    if (existing !== undefined) {
      if (existing.status === 'PENDING') {
        return { outcome: 'PENDING', instanceId: existing.instanceId };
      }
      if (existing.goneAt < Number.POSITIVE_INFINITY) {
        throw new Error('The VM of that name is being deleted.');
      }
      return { outcome: 'CREATED', instanceId: existing.instanceId };
    }
    if (prng.chance(faults.stockout)) {
      if (request.capacityWaitSeconds !== null) {
        const waitMs = request.capacityWaitSeconds * 1_000;
        const waiting = insert(request, prng.integer(1.5 * waitMs), waitMs);
        return { outcome: 'PENDING', instanceId: waiting.instanceId };
      }
      rejectedZones.add(`${request.jobId}/${request.attempt}/${request.zone}`);
      return {
        outcome: 'FAILED',
        failure: { cause: causeOf('STOCKOUT', `${request.zone} is full.`), zonesAvailable: [] },
      };
    }
    if (prng.chance(faults.createThrows)) {
      throw new Error('Compute Engine is unavailable.');
    }
    if (prng.chance(faults.createLate)) {
      insert(request, prng.integer(3_600_000));
      throw new Error('The insert timed out.');
    }
    return { outcome: 'CREATED', instanceId: insert(request, 0).instanceId };
  }

  async function remove(vm: { readonly vmName: string; readonly zone: string }): Promise<'GONE' | 'DELETING'> {
    settle();
    const existing = vms.get(key(vm));
    // A VM whose creation is still under way cannot be seen, and so not be deleted either.
    if (existing === undefined || !isSeen(existing)) {
      return 'GONE';
    }
    noteVain(existing);
    if (prng.chance(faults.deleteSlow)) {
      vms.set(key(vm), {
        ...existing,
        status: 'STOPPING',
        goneAt: Math.min(existing.goneAt, now() + prng.integer(90_000)),
      });
      return 'DELETING';
    }
    forget(existing);
    return 'GONE';
  }

  const provider: VmProvider = {
    create,
    async find(vm) {
      settle();
      const found = vms.get(key(vm));
      return found !== undefined && isSeen(found) ? found : undefined;
    },
    delete: remove,
    async list(query) {
      settle();
      const seen = [...vms.values()].filter(isSeen);
      return query === undefined ? seen : seen.filter((vm) => vm.jobId === query.jobId);
    },
  };

  return {
    provider,
    /** Whether this zone has refused this attempt of this job at any time. */
    hasRefused: (jobId: string, attempt: number, zone: string) => rejectedZones.has(`${jobId}/${attempt}/${zone}`),
    alive(): readonly SimulatedVm[] {
      settle();
      return [...vms.values()].filter((vm) => vm.bornAt <= now() && vm.status === 'RUNNING');
    },
    all(): readonly SimulatedVm[] {
      settle();
      return [...vms.values()];
    },
    update(vm: SimulatedVm, change: Partial<SimulatedVm>): void {
      const current = vms.get(key(vm));
      if (current?.instanceId === vm.instanceId) {
        vms.set(key(vm), { ...current, ...change });
      }
    },
    vanish(vm: SimulatedVm): void {
      if (vms.get(key(vm))?.instanceId === vm.instanceId) {
        forget(vm);
      }
    },
  };
}

export type SimulatedCloud = ReturnType<typeof createSimulatedCloud>;
