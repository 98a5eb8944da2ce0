import { causeOf } from '#shared/domain/cause.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { CreateOutcome, Vm, VmProvider, VmRequest } from '#shared/ports/vm-provider.ts';
import type { Prng } from './prng.ts';

/** A VM in the simulated Compute Engine; `bornAt` in the future means that its creation is still under way. */
export type SimulatedVm = Vm &
  ReplicaId & {
    readonly bornAt: number;
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

/** Compute Engine as the pipeline meets it: refuses, times out, creates late, deletes slowly, and counts what it did. */
export function createSimulatedCloud(
  prng: Prng,
  faults: CloudFaults,
  { now, isRunBounded }: { readonly now: () => number; readonly isRunBounded: boolean },
) {
  const vms = new Map<string, SimulatedVm>();
  const refusedZones = new Set<string>();
  let nextInstanceId = 1;

  const key = ({ zone, vmName }: { readonly zone: string; readonly vmName: string }) => `${zone}/${vmName}`;

  function settle(): void {
    for (const [name, vm] of vms) {
      if (vm.goneAt <= now() || vm.diesAt <= now()) {
        vms.delete(name);
      }
    }
  }

  function insert(request: VmRequest, delayMs: number): SimulatedVm {
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
      status: 'RUNNING',
      diesAt: isRunBounded ? bornAt + maxRunSeconds * 1_000 : Number.POSITIVE_INFINITY,
      goneAt: Number.POSITIVE_INFINITY,
      lastSequence: 0,
    };
    vms.set(key(request), vm);
    return vm;
  }

  async function create(request: VmRequest): Promise<CreateOutcome> {
    settle();
    const existing = vms.get(key(request));
    if (existing !== undefined) {
      if (existing.goneAt < Number.POSITIVE_INFINITY) {
        throw new Error('The VM of that name is being deleted.');
      }
      return { outcome: 'CREATED', instanceId: existing.instanceId };
    }
    if (prng.chance(faults.stockout)) {
      refusedZones.add(`${request.jobId}/${request.attempt}/${request.zone}`);
      return {
        outcome: 'REFUSED',
        refusal: { cause: causeOf('STOCKOUT', `${request.zone} is full.`), zonesAvailable: [] },
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
    if (existing === undefined || existing.bornAt > now()) {
      return 'GONE';
    }
    if (prng.chance(faults.deleteSlow)) {
      vms.set(key(vm), {
        ...existing,
        status: 'STOPPING',
        goneAt: Math.min(existing.goneAt, now() + prng.integer(90_000)),
      });
      return 'DELETING';
    }
    vms.delete(key(vm));
    return 'GONE';
  }

  const provider: VmProvider = {
    create,
    delete: remove,
    async list(query) {
      settle();
      const born = [...vms.values()].filter((vm) => vm.bornAt <= now());
      return query === undefined ? born : born.filter((vm) => vm.jobId === query.jobId);
    },
  };

  return {
    provider,
    /** Whether this zone has refused this attempt of this job at any time. */
    hasRefused: (jobId: string, attempt: number, zone: string) => refusedZones.has(`${jobId}/${attempt}/${zone}`),
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
        vms.delete(key(vm));
      }
    },
  };
}

export type SimulatedCloud = ReturnType<typeof createSimulatedCloud>;
