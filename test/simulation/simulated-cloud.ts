import { causeOf } from '#shared/domain/cause.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { CreateOutcome, Vm, VmProvider, VmRequest } from '#shared/ports/vm-provider.ts';
import type { Prng } from './prng.ts';
import { ZONES } from './simulated-job.ts';

/**
 * A VM in the simulated Compute Engine. With `bornAt` in the future, its creation is still in progress, or it is
 * PENDING until then.
 */
export type SimulatedVm = Vm &
  ReplicaId & {
    readonly bornAt: number;
    /** Whether it had to wait for capacity. */
    readonly hasWaited: boolean;
    /** Whether its request had no answer, and it appeared later. */
    readonly isLate: boolean;
    readonly diesAt: number;
    readonly goneAt: number;
    readonly lastSequence: number;
  };

export type CloudFaults = {
  /** Chances per call, from 0 to 1. */
  stockout: number;
  createThrows: number;
  /** The insert times out for the caller, but the VM is created later. */
  createLate: number;
  deleteSlow: number;
};

/** A limit on VMs in the region, part of which VMs of others use: a quota, or the capacity of all zones. */
export type SimulatedLimit = {
  readonly code: 'QUOTA_EXCEEDED' | 'STOCKOUT';
  readonly vmsMax: number;
  readonly usedByOthers: number;
  /** Whether it is known before the VMs are created, as on one machine. */
  readonly isKnown?: boolean;
};

const MINUTE_MS = 60_000;

type CloudOptions = {
  readonly now: () => number;
  readonly isRunBounded: boolean;
  readonly limit?: SimulatedLimit | undefined;
};

/**
 * A simulated Compute Engine: runs out of capacity, times out, creates late, deletes slowly, and records what it did.
 */
export function createSimulatedCloud(prng: Prng, faults: CloudFaults, { now, isRunBounded, limit }: CloudOptions) {
  const vms = new Map<string, SimulatedVm>();
  const rejectedZones = new Set<string>();
  /** Billed minutes of VMs that are gone, by instance id. */
  const minutes = new Map<string, number>();
  let nextInstanceId = 1;

  const key = ({ zone, vmName }: { readonly zone: string; readonly vmName: string }) => `${zone}/${vmName}`;

  /** A VM that had to wait for capacity and is gone counts as a capacity failure of its zone. */
  function recordVainWait(vm: SimulatedVm): void {
    if (vm.hasWaited) {
      rejectedZones.add(`${vm.jobId}/${vm.attempt}/${vm.zone}`);
    }
  }

  /** Each VM is billed for at least a minute. */
  function minutesOf(vm: SimulatedVm): number {
    return vm.status === 'PENDING' ? 0 : Math.max(1, Math.ceil((now() - vm.bornAt) / MINUTE_MS));
  }

  function forget(vm: SimulatedVm): void {
    minutes.set(vm.instanceId, minutesOf(vm));
    vms.delete(key(vm));
    recordVainWait(vm);
  }

  function applyDue(): void {
    for (const [name, vm] of vms) {
      if (vm.goneAt <= now() || vm.diesAt <= now()) {
        forget(vm);
      } else if (vm.status === 'PENDING' && vm.bornAt <= now()) {
        vms.set(name, { ...vm, status: 'RUNNING', goneAt: Number.POSITIVE_INFINITY });
      }
    }
  }

  const isVisible = (vm: SimulatedVm) => vm.status === 'PENDING' || vm.bornAt <= now();

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
      isLate: waitMs === null && delayMs > 0,
      diesAt: isRunBounded ? bornAt + maxRunSeconds * 1_000 : Number.POSITIVE_INFINITY,
      goneAt: waitMs === null ? Number.POSITIVE_INFINITY : now() + waitMs,
      lastSequence: 0,
    };
    vms.set(key(request), vm);
    return vm;
  }

  /** The limit applies to all of the simulated zones. */
  function exceedLimit({ jobId, attempt }: VmRequest, { code, vmsMax }: SimulatedLimit): CreateOutcome {
    for (const zone of ZONES) {
      rejectedZones.add(`${jobId}/${attempt}/${zone}`);
    }
    const cause = causeOf(code, `The region runs at most ${vmsMax} VMs.`);
    const quota = { metric: 'INSTANCES', family: null, limit: vmsMax, scope: 'REGION' } as const;
    return { outcome: 'FAILED', failure: { cause, zonesAvailable: [], ...(code === 'QUOTA_EXCEEDED' && { quota }) } };
  }

  async function create(request: VmRequest): Promise<CreateOutcome> {
    applyDue();
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
    if (limit !== undefined && vms.size + limit.usedByOthers >= limit.vmsMax) {
      return exceedLimit(request, limit);
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
    applyDue();
    const existing = vms.get(key(vm));
    // A VM whose creation is still in progress is not visible, and so cannot be deleted.
    if (existing === undefined || !isVisible(existing)) {
      return 'GONE';
    }
    recordVainWait(existing);
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
    async findShortage(requests) {
      applyDue();
      const missing = requests.filter((request) => !vms.has(key(request)));
      const [first] = missing;
      const isExceeded = limit?.isKnown === true && vms.size + missing.length + limit.usedByOthers > limit.vmsMax;
      const outcome = isExceeded && first !== undefined ? exceedLimit(first, limit) : undefined;
      return outcome?.outcome === 'FAILED' ? outcome.failure : undefined;
    },
    async find(vm) {
      applyDue();
      const found = vms.get(key(vm));
      return found !== undefined && isVisible(found) ? found : undefined;
    },
    delete: remove,
    async list(query) {
      applyDue();
      const seen = [...vms.values()].filter(isVisible);
      return query === undefined ? seen : seen.filter((vm) => vm.jobId === query.jobId);
    },
  };

  return {
    provider,
    /** Billed minutes of all VMs that ever existed, by instance id. */
    billedMinutes(): ReadonlyMap<string, number> {
      return new Map([...minutes, ...[...vms.values()].map((vm) => [vm.instanceId, minutesOf(vm)] as const)]);
    },
    /** Whether this zone was ever out of capacity for this attempt of this job. */
    hasFailed: (jobId: string, attempt: number, zone: string) => rejectedZones.has(`${jobId}/${attempt}/${zone}`),
    alive(): readonly SimulatedVm[] {
      applyDue();
      return [...vms.values()].filter((vm) => vm.bornAt <= now() && vm.status === 'RUNNING');
    },
    all(): readonly SimulatedVm[] {
      applyDue();
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
