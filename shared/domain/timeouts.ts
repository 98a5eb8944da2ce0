/**
 * How long each wait may last before the reconciler acts. All timeouts in one place, so worst cases can be added up.
 */
export const TIMEOUTS = {
  /** From the provision request until Compute Engine has answered. Then it is repeated, with the same VM names. */
  provisionAnswerMs: 180_000,
  /** From a VM's creation until its first heartbeat; setup is not included. */
  bootMs: 900_000,
  /** Interval between checks on a VM that waits for capacity at Compute Engine. */
  pendingMs: 120_000,
  /**
   * For how long the VMs of a cluster that have started, and are billed, wait for those that still wait for capacity.
   * Then all are deleted, and the next zone is tried.
   */
  assemblyMs: 600_000,
  /**
   * A replica without a heartbeat for this long is suspect, and after half as long again lost, if others are reporting.
   */
  leaseMs: 120_000,
  /** An agent that cannot reach the control plane for this long stops its VM; its replica is then lost in any case. */
  controlPlaneTimeoutMs: 600_000,
  /**
   * Longest time between sending and receiving a heartbeat: agents wait for 10 s. Only a heartbeat that arrives this
   * long after a failure was reported shows that its replica has outlived it. Also the interval between checks on a
   * held failure.
   */
  heartbeatDelayMs: 30_000,
  /** Longest time for which a replica's failure is held; then a replica without a heartbeat since it is lost. */
  failureHoldMs: 600_000,
  /** Interval between deletion requests while the job is CLOSING. */
  teardownMs: 60_000,
  /** Interval between checks on a VM that is kept after a failure. */
  keptCheckMs: 120_000,
  /** From maxRunningTime, at which the agent stops the program, until the control plane ends the job. */
  maxRunningGraceMs: 180_000,
  /**
   * A cancel message that arrives before its job is redelivered for this long: fewer deliveries than make it a dead
   * letter.
   */
  earlyCancelMs: 600_000,
  /** From a tuning's suggestion request until values are chosen. Then it is repeated. */
  suggestionAnswerMs: 180_000,
  /** Interval between checks on the job of a running trial, whose end could not be reported otherwise. */
  trialCheckMs: 600_000,
  /** Interval between cancel requests to the trials of a tuning that is CLOSING. */
  trialCancelMs: 60_000,
  /** After a capacity failure, no job requests the same machine in that zone for this long. */
  coolDownMs: 60_000,
  /** Backoff after every zone was out of capacity: exponential, from MsMin to MsMax. */
  backoffMsMin: 15_000,
  backoffMsMax: 600_000,
} as const;

export type Timeouts = Readonly<Record<keyof typeof TIMEOUTS, number>>;

/**
 * From the master's first heartbeat until its program starts: downloading, installing, restoring a checkpoint.
 * Generous, since the lease also guards it; it ends an installation that never finishes.
 */
export const SETUP_MS_MAX = 7_200_000;

/** The agent aborts its setup this much before SETUP_MS_MAX, since its report says more than the timeout does. */
export const SETUP_REPORT_MS = 120_000;

/** Added to a job's deadline while its program has exited and its outputs are being uploaded. */
export const UPLOAD_GRACE_MS = 1_800_000;

/** Longest time from SIGTERM until the agent ends a program by SIGKILL. */
export const PROGRAM_STOP_MS_MAX = 60_000;

/**
 * How long an interrupted attempt may save after its program was stopped, before the next one claims its job directory:
 * with PROGRAM_STOP_MS_MAX, the 90 seconds after which Compute Engine ends a VM that is deleted (docs, "Run shutdown
 * scripts").
 */
export const FINAL_SAVE_MS_MAX = 30_000;

/**
 * How long before a failure of another replica a reboot may have been its reason: PyTorch's collectives fail after 10
 * or 30 minutes by default (docs, torch.distributed.init_process_group).
 */
export const REBOOT_EFFECT_MS_MAX = 3_600_000;

/** Failures within this time have no certain order: VMs report their ends by their own clocks. */
export const FOLLOWING_FAILURE_MS_MAX = 10_000;

/** How far the clock of a VM may be ahead of the control plane's to be trusted for the order of failures. */
export const CLOCK_ERROR_MS_MAX = 5_000;

/**
 * How long a Flex-start request may wait in one zone before the next zone is tried (Compute Engine docs, "About
 * Flex-start VMs": 90 seconds to two hours).
 */
export const CAPACITY_WAIT_MS_MIN = 90_000;
export const CAPACITY_WAIT_MS_MAX = 7_200_000;

/** Limit on attempts in a row without a first heartbeat: the cause is then the machine image or network, not a host. */
export const BOOT_FAILURES_IN_ROW_MAX = 3;

/**
 * Limit on interruptions in a row of attempts that hardly ran: each costs VMs, and no other limit would end the job.
 */
export const INTERRUPTIONS_IN_ROW_MAX = 20;

/**
 * Limit on VMs in a row, for each replica of the job, that are created and deleted without the program having run. Each
 * is billed for at least a minute (Compute Engine, "VM instance pricing"), so they cost less than an hour of the job's
 * machines unless they fail to boot. With the backoff, a cluster that lacks one VM reaches it after most of a day.
 */
export const UNUSED_VMS_PER_REPLICA_MAX = 50;

/**
 * The same for a cluster with FLEX_START, whose VMs may be billed for `assemblyMs` each, and until that is noticed: less
 * than two hours of the cluster's price in total.
 */
export const UNUSED_FLEX_START_VMS_PER_REPLICA_MAX = 6;

/** After VMs were created and deleted again, the longest backoff is longer by this factor. */
const UNUSED_VMS_BACKOFF_FACTOR = 6;

/**
 * How long a job without a maxWaitTime waits for a quota that other VMs use: 24 hours, Vertex AI's default for waiting
 * for resources (Scheduling.maxWaitDuration). By then most trainings have ended; a quota that is still exceeded has to
 * be raised.
 */
export const QUOTA_WAIT_MS_MAX = 24 * 3_600_000;

/**
 * For how long after the first denial of a service perimeter a job or an upload is retried, and how often: a perimeter
 * that was created or changed can deny for up to 30 minutes what its rules allow (VPC Service Controls docs, "Create a
 * service perimeter"). Each retry may start VMs.
 */
export const PERIMETER_SETTLING_MS_MAX = 1_800_000;
export const PERIMETER_RETRY_MS = 300_000;

/** An attempt that ran for this long resets the interruption backoff. */
export const STABLE_RUN_MS = 60_000;

/**
 * Limit on placement rounds in a row whose provision message became a dead letter. Each is about 40 minutes of
 * deliveries: an overloaded or failing stage should not end the jobs that wait for it any sooner.
 */
export const DELIVERY_FAILURES_IN_ROW_MAX = 5;

/** Limit on suggestion requests in a row that no delivery could handle; then the tuning fails. */
export const SUGGESTION_FAILURES_IN_ROW_MAX = 3;

/** Limit on lost trials in a row with the same values; a tuning of which no others succeed in between fails. */
export const LOST_TRIALS_IN_ROW_MAX = 3;

/** Limit on trials that are checked when a tuning's deadline passes: each is a message. */
export const TRIAL_CHECKS_MAX = 20;

const INTERRUPTION_BACKOFF_MS_MIN = 15_000;
const INTERRUPTION_BACKOFF_MS_MAX = 300_000;

/** Backoff after zone fallback has tried every zone `rounds` times. */
export function zoneFallbackBackoffMs(
  rounds: number,
  { backoffMsMin, backoffMsMax }: Timeouts,
  { hasUnusedVms } = { hasUnusedVms: false },
): number {
  const longestMs = hasUnusedVms ? backoffMsMax * UNUSED_VMS_BACKOFF_FACTOR : backoffMsMax;
  return Math.min(longestMs, backoffMsMin * 2 ** Math.min(rounds, 10));
}

/** No backoff after the first interruption in a row, then exponential up to 5 minutes. */
export function interruptionBackoffMs(inRow: number): number {
  return inRow <= 1
    ? 0
    : Math.min(INTERRUPTION_BACKOFF_MS_MAX, INTERRUPTION_BACKOFF_MS_MIN * 2 ** Math.min(inRow - 2, 10));
}
