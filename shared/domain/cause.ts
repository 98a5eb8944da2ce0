import {
  clip,
  clipLines,
  EVIDENCE_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  OLD_MESSAGE_BYTES_MAX,
} from '#shared/domain/job-size.ts';

/** Class of a failure; it selects the retry policy (docs/adr/0003-internal-status-and-public-state.md). */
export type CauseClass =
  | 'capacity'
  | 'rate'
  | 'quota'
  | 'interruption'
  | 'user'
  | 'configuration'
  | 'internal'
  | 'cancel';

/**
 * Every cause with which an attempt or a job can end: its class, from which the policy follows, and the remedy that is
 * shown to the user. One table, so that state and cause stay apart.
 */
export const CAUSES = {
  STOCKOUT: {
    class: 'capacity',
    remedy: 'No zone had the machine in time. Raise scheduling.maxWaitTime, or ask for another machine type or region.',
  },
  RATE_LIMITED: {
    class: 'rate',
    remedy: 'Compute Engine refused the pace of requests. Nothing to do: it is tried again later.',
  },
  QUOTA_EXCEEDED: {
    class: 'quota',
    remedy:
      'Ask for a higher quota of the named metric, or choose a machine type, or for a quota of one region a region, that needs none of it.',
  },
  CAPACITY_PENDING: {
    class: 'capacity',
    remedy:
      'Nothing to do, and no machine is billed: the VM starts when one comes free, and otherwise the next zone is asked.',
  },
  PREEMPTED: {
    class: 'interruption',
    remedy: 'Nothing to do: the job goes on from its last checkpoint in a new attempt.',
  },
  VM_TERMINATED: {
    class: 'interruption',
    remedy: 'Nothing to do: the VM ended without a word from its agent, and a new attempt was started.',
  },
  HEARTBEAT_LOST: {
    class: 'interruption',
    remedy: 'Nothing to do: the VM was not heard from, and a new attempt was started.',
  },
  VM_BOOT_TIMED_OUT: {
    class: 'interruption',
    remedy: 'The VM never reported. Check that the machine image boots and that it can reach the heartbeat function.',
  },
  CLUSTER_INCOMPLETE: {
    class: 'interruption',
    remedy:
      'Nothing to do: what a part of the cluster has computed does not count, and a new attempt was started with all of it.',
  },
  SERVICE_UNREACHABLE: {
    class: 'interruption',
    remedy:
      'Nothing to do at first: a new attempt was started. If it comes again, check that the VM reaches the service that the evidence names: Private Google Access, DNS, a perimeter.',
  },
  INTERRUPTED_REPEATEDLY: {
    class: 'capacity',
    remedy:
      'Attempt after attempt was lost before it had run for a minute. Choose another region, or machines that are not preempted, and submit again.',
  },
  PROGRAM_FAILED: {
    class: 'user',
    remedy: 'The program ended with an error: read the last lines of its output below, mend it and submit again.',
  },
  PROGRAM_KILLED: {
    class: 'user',
    remedy:
      'The program was ended by a signal. If it was SIGKILL, it may have run out of memory: try a machine with more.',
  },
  OUT_OF_MEMORY: {
    class: 'user',
    remedy: 'The program ran out of memory. Choose a machine type with more memory, or a smaller batch size.',
  },
  DISK_FULL: {
    class: 'user',
    remedy:
      'The program filled the disk of the VM. Ask for a larger boot disk (in the embedded cloud, raise diskBytesMax), or write less.',
  },
  MODULE_NOT_FOUND: {
    class: 'user',
    remedy:
      'A module that the program imports is not installed. Add it to install_requires of the package, or choose a runtime that has it.',
  },
  MAX_RUNNING_TIME_EXCEEDED: {
    class: 'user',
    remedy:
      'The job ran longer than scheduling.maxRunningTime. Raise it, or train for fewer steps; what was saved is in the job directory.',
  },
  INSTALL_FAILED: {
    class: 'user',
    remedy: 'pip could not install the package on the VM. The requirement it stopped at is named below.',
  },
  SETUP_TIMED_OUT: {
    class: 'user',
    remedy:
      'The VM was still downloading or installing when its time for that was over. Ask for fewer requirements, or choose a runtime that has them.',
  },
  PACKAGE_UNREADABLE: {
    class: 'configuration',
    remedy: 'The package could not be fetched as it was checked. Upload it again and submit under a new job id.',
  },
  JOB_DIR_UNWRITABLE: {
    class: 'configuration',
    remedy:
      'The job directory cannot be written by the VM. Check that the bucket exists and grant the VM service account storage.objectAdmin on it.',
  },
  CHECKPOINT_UNREADABLE: {
    class: 'configuration',
    remedy:
      'The program was not started without what earlier attempts have saved, and nothing of that was changed. Give the VM service account storage.objectAdmin, or bring the named object back, and submit again; with dropforge-manifest.json deleted, the next job begins without it.',
  },
  DISK_TOO_SMALL: {
    class: 'configuration',
    remedy:
      'What earlier attempts have saved is safe in the job directory, but does not fit on the disk. Submit again with a larger bootDiskSizeGb and the same job directory.',
  },
  SECRET_UNAVAILABLE: {
    class: 'configuration',
    remedy:
      'The VM could not read a secret that the job names. Give it a value and let the VM service account read it, with the gcloud commands below; in the embedded cloud, with dropforge secrets create.',
  },
  CONFIGURATION_REFUSED: {
    class: 'configuration',
    remedy: 'Compute Engine refused the machine as it was asked for. Correct what the message names and submit again.',
  },
  MAX_WAIT_TIME_EXCEEDED: {
    class: 'capacity',
    remedy:
      'The job waited longer than scheduling.maxWaitTime without running. Raise it, or choose another machine type or region.',
  },
  BOOT_FAILED_REPEATEDLY: {
    class: 'configuration',
    remedy:
      'VM after VM never reported. Check the machine image, its network and the heartbeat function, then submit again.',
  },
  CANCELLED_BY_USER: { class: 'cancel', remedy: 'Nothing to do: the job was cancelled on request.' },
  INTERNAL_ERROR: {
    class: 'internal',
    remedy:
      'Dropforge could not go on with this job. Show the evidence to whoever operates it; the job can be submitted again under a new id.',
  },
} as const satisfies Readonly<Record<string, { readonly class: CauseClass; readonly remedy: string }>>;

export type CauseCode = keyof typeof CAUSES;

/** Why an attempt or a job ended: one code, what happened in a sentence, and the lines that prove it. */
export type Cause = {
  readonly code: CauseCode;
  readonly message: string;
  /** At most EVIDENCE_LINES_MAX lines and EVIDENCE_BYTES_MAX bytes, the newest last. */
  readonly evidence: readonly string[];
};

export const EVIDENCE_LINES_MAX = 40;

export function classOf(cause: Cause): CauseClass {
  return CAUSES[cause.code].class;
}

export function remedyOf(cause: Cause): string {
  return CAUSES[cause.code].remedy;
}

export function causeOf(code: CauseCode, message: string, evidence: readonly string[] = []): Cause {
  return {
    code,
    message: clip(message, MESSAGE_BYTES_MAX),
    evidence: clipLines(evidence.slice(-EVIDENCE_LINES_MAX), EVIDENCE_BYTES_MAX),
  };
}

/** What is kept of a cause that is history. */
export function abridge({ code, message }: Cause): Cause {
  return { code, message: clip(message, OLD_MESSAGE_BYTES_MAX), evidence: [] };
}
