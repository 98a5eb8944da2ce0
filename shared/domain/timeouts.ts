/** How long each wait may last before the watcher looks at the job again. One place, so that the sum can be read off. */
export type Timeouts = {
  /** From asking for a place until Compute Engine has answered; then it is asked again (same names, so nothing doubles). */
  readonly provisionAnswerMs: number;
  /** From the VMs' creation until each of them has reported; what it installs then is not in it. */
  readonly bootMs: number;
  /** How often it is looked whether a VM that waits for capacity at Compute Engine has been started. */
  readonly pendingMs: number;
  /** Without a heartbeat for so long, a replica is missed, and half as long later given up, if others are heard. */
  readonly leaseMs: number;
  /** An agent that has heard nothing for so long stops its VM; a silent VM is given up then though nobody is heard. */
  readonly controlPlaneTimeoutMs: number;
  /** How often the deletion of VMs is asked for again while the job closes. */
  readonly teardownMs: number;
  /** After the agent should have stopped a job at its maxRunningTime, until the control plane does. */
  readonly maxRunningGraceMs: number;
  /** A cancel that came before its job is delivered again for so long; fewer deliveries than make it a dead letter. */
  readonly earlyCancelMs: number;
  /** A zone that has just refused is not asked again for so long, by any job that wants the same machine. */
  readonly coolDownMs: number;
  /** The wait when every zone has refused: doubling from the least to the most. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
};

export const TIMEOUTS: Timeouts = {
  provisionAnswerMs: 180_000,
  bootMs: 900_000,
  pendingMs: 120_000,
  leaseMs: 120_000,
  controlPlaneTimeoutMs: 600_000,
  teardownMs: 60_000,
  maxRunningGraceMs: 180_000,
  earlyCancelMs: 600_000,
  coolDownMs: 60_000,
  backoffMsMin: 15_000,
  backoffMsMax: 600_000,
};

/**
 * From the master's first report until its program starts: downloading, installing, restoring a checkpoint. Generous,
 * for the lease guards it all along; an installation without end must end, too.
 */
export const SETUP_MS_MAX = 7_200_000;

/** So much sooner the agent gives up what hinders the setup: its report says more than the deadline does. */
export const SETUP_REPORT_MS = 120_000;

/** How much later than its last deadline a job may end whose program is over and whose outputs are being saved. */
export const UPLOAD_GRACE_MS = 1_800_000;

/**
 * How long one zone may keep a Flex-start request before the next is asked (Compute Engine, "About Flex-start VMs": 90
 * seconds to two hours).
 */
export const CAPACITY_WAIT_MS_MIN = 90_000;
export const CAPACITY_WAIT_MS_MAX = 7_200_000;

/** VM after VM that never reports would cost money for ever; the fault is then the image's, not a host's. */
export const BOOT_FAILURES_IN_ROW_MAX = 3;

/** Interruptions in a row of attempts that hardly ran: no other limit would end it, and each of them cost VMs. */
export const INTERRUPTIONS_IN_ROW_MAX = 20;

/** An attempt that ran for so long proves that starting again works; shorter ones are spaced out. */
export const SETTLED_RUN_MS = 60_000;

/**
 * Searches for a place in a row whose message the provision stage gave up. Each of them is some 40 minutes of tries,
 * and a stage that is overrun or down for that long is no reason to end the jobs that wait for it.
 */
export const DELIVERY_FAILURES_IN_ROW_MAX = 5;

const INTERRUPTION_BACKOFF_MS_MIN = 15_000;
const INTERRUPTION_BACKOFF_MS_MAX = 300_000;

/** The wait after the ladder of zones was spent `rounds` times. */
export function zoneFallbackBackoffMs(rounds: number, { backoffMsMin, backoffMsMax }: Timeouts): number {
  return Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(rounds, 10));
}

/** The first interruption costs no wait; interruptions of attempts that hardly ran are spaced out, up to 5 min. */
export function interruptionBackoffMs(inRow: number): number {
  return inRow <= 1
    ? 0
    : Math.min(INTERRUPTION_BACKOFF_MS_MAX, INTERRUPTION_BACKOFF_MS_MIN * 2 ** Math.min(inRow - 2, 10));
}
