import type { FunctionPorts } from '#functions/function-ports.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';

/** What the stopwatch sees of a job with one VM, in milliseconds since the Unix epoch with fractions. */
export type Moments = {
  readonly vmAskedAt: number;
  /** The heartbeat with the exit report has reached its function; nothing was done about it yet. */
  readonly exitHeardAt: number;
  readonly deletionAskedAt: number;
  /** The provider has said that the VM is gone. */
  readonly vmGoneAt: number;
  /** The job is committed as CLOSED. */
  readonly closedAt: number;
};

export type Stopwatch = {
  wrapPorts(ports: FunctionPorts): FunctionPorts;
  /** Resolves when the job is closed; throws when it did not succeed. */
  awaitClosed(jobId: string): Promise<Moments>;
};

/** The time of day, finer than `Date.now` and comparable with that of other processes of this machine. */
function readClockMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Takes the time as calls pass from functions to adapters. It waits for nothing and changes nothing. */
export function createStopwatch(): Stopwatch {
  const marks = createMarks();
  let heartbeatAt = 0;
  return {
    awaitClosed: marks.awaitClosed,
    wrapPorts: (ports) => ({
      ...ports,
      verifyVmIdentity(authorization) {
        heartbeatAt = readClockMs();
        return ports.verifyVmIdentity(authorization);
      },
      replicas: wrapReplicas(ports.replicas, (jobId) => marks.note(jobId, 'exitHeardAt', heartbeatAt)),
      vms: wrapVms(ports.vms, marks),
      jobs: wrapJobs(ports.jobs, marks),
    }),
  };
}

type Marks = ReturnType<typeof createMarks>;

/** Of every moment the first time counts: what is done twice was asked for by the first. */
function createMarks() {
  const seen = new Map<string, Partial<Moments>>();
  const closings = new Map<string, PromiseWithResolvers<Moments>>();

  function closingOf(jobId: string): PromiseWithResolvers<Moments> {
    const closing = closings.get(jobId) ?? Promise.withResolvers<Moments>();
    closings.set(jobId, closing);
    return closing;
  }

  return {
    note: (jobId: string, name: keyof Moments, at = readClockMs()) =>
      void seen.set(jobId, { [name]: at, ...seen.get(jobId) }),
    awaitClosed: (jobId: string) => closingOf(jobId).promise,
    /** Everything of a job that succeeded was seen; one that failed may have skipped some of it. */
    close(jobId: string, problem: string | null): void {
      if (problem === null) {
        closingOf(jobId).resolve(seen.get(jobId) as Moments);
      } else {
        closingOf(jobId).reject(new Error(`Job ${jobId} should have succeeded. ${problem}`));
      }
    },
  };
}

function wrapReplicas(replicas: ReplicaStore, onExit: (jobId: string) => void): ReplicaStore {
  return {
    ...replicas,
    record(replica) {
      if (replica.exit !== null) {
        onExit(replica.jobId);
      }
      return replicas.record(replica);
    },
  };
}

function wrapVms(vms: VmProvider, marks: Marks): VmProvider {
  const jobIds = new Map<string, string>();
  return {
    ...vms,
    create(request) {
      marks.note(request.jobId, 'vmAskedAt');
      jobIds.set(request.vmName, request.jobId);
      return vms.create(request);
    },
    async delete(vm) {
      const jobId = jobIds.get(vm.vmName) ?? '';
      marks.note(jobId, 'deletionAskedAt');
      const outcome = await vms.delete(vm);
      if (outcome === 'GONE') {
        marks.note(jobId, 'vmGoneAt');
      }
      return outcome;
    },
  };
}

function wrapJobs(jobs: JobStore, marks: Marks): JobStore {
  return {
    ...jobs,
    async commit(change) {
      const outcome = await jobs.commit(change);
      const { job } = change;
      if (outcome === 'COMMITTED' && job.status === 'CLOSED') {
        marks.note(job.jobId, 'closedAt');
        const { state, cause } = job.verdict;
        marks.close(job.jobId, state === 'SUCCEEDED' ? null : `It is ${state}: ${cause?.message}`);
      }
      return outcome;
    },
  };
}
