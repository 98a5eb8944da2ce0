import type { FunctionPorts } from '#functions/function-ports.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';

/** Timestamps of a job with one VM, in milliseconds since the Unix epoch, with fractions. */
export type Timestamps = {
  readonly vmRequestedAt: number;
  /** The heartbeat with the exit report has reached its function, before it is handled. */
  readonly exitReceivedAt: number;
  readonly deletionRequestedAt: number;
  /** The provider reported that the VM is gone. */
  readonly vmGoneAt: number;
  /** The job is committed as CLOSED. */
  readonly closedAt: number;
};

export type Stopwatch = {
  wrapPorts(ports: FunctionPorts): FunctionPorts;
  /** Resolves when the job is closed; rejects if it did not succeed. */
  awaitClosed(jobId: string): Promise<Timestamps>;
};

/** The current time with a higher resolution than `Date.now`, comparable between processes of this machine. */
function readClockMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Records timestamps of calls from functions to adapters, without delaying or changing the calls. */
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
      replicas: wrapReplicas(ports.replicas, (jobId) => marks.record(jobId, 'exitReceivedAt', heartbeatAt)),
      vms: wrapVms(ports.vms, marks),
      jobs: wrapJobs(ports.jobs, marks),
    }),
  };
}

type Marks = ReturnType<typeof createMarks>;

/** Keeps the first occurrence of each timestamp: repeated calls are retries. */
function createMarks() {
  const seen = new Map<string, Partial<Timestamps>>();
  const closings = new Map<string, PromiseWithResolvers<Timestamps>>();

  function closingOf(jobId: string): PromiseWithResolvers<Timestamps> {
    const closing = closings.get(jobId) ?? Promise.withResolvers<Timestamps>();
    closings.set(jobId, closing);
    return closing;
  }

  return {
    record: (jobId: string, name: keyof Timestamps, at = readClockMs()) =>
      void seen.set(jobId, { [name]: at, ...seen.get(jobId) }),
    awaitClosed: (jobId: string) => closingOf(jobId).promise,
    /** A job that succeeded has all timestamps; a failed job can lack some. */
    close(jobId: string, problem: string | null): void {
      if (problem === null) {
        closingOf(jobId).resolve(seen.get(jobId) as Timestamps);
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
      marks.record(request.jobId, 'vmRequestedAt');
      jobIds.set(request.vmName, request.jobId);
      return vms.create(request);
    },
    async delete(vm) {
      const jobId = jobIds.get(vm.vmName) ?? '';
      marks.record(jobId, 'deletionRequestedAt');
      const outcome = await vms.delete(vm);
      if (outcome === 'GONE') {
        marks.record(jobId, 'vmGoneAt');
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
      const { record: job } = change;
      if (outcome === 'COMMITTED' && job.status === 'CLOSED') {
        marks.record(job.jobId, 'closedAt');
        const { state, cause } = job.verdict;
        marks.close(job.jobId, state === 'SUCCEEDED' ? null : `It is ${state}: ${cause?.message}`);
      }
      return outcome;
    },
  };
}
