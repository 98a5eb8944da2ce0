import type { TimestampMs } from '#shared/domain/job.ts';

export const PROFILE_SECONDS_MAX = 300;
export const PROFILE_SECONDS_DEFAULT = 30;

/** `attempt-123456-evaluator-123-123456` is shorter. */
export const PROFILE_ID_CHARS_MAX = 64;

/** How long the agent has to start: more than two heartbeat intervals, and what it needs to find the main process. */
export const PROFILE_START_MS_MAX = 120_000;

/** From the end of a recording until its file is in the job directory and the agent has reported it. */
export const PROFILE_SAVE_MS_MAX = 180_000;

/** A profile that a user asked for. Answers to the replica's heartbeats repeat it until the agent reports its id. */
export type ProfileRequest = {
  /** Derived from attempt, replica and ordinal, and part of the file's name. */
  readonly requestId: string;
  /** From 1, of all profiles of the attempt. */
  readonly ordinal: number;
  readonly replica: string;
  readonly seconds: number;
  readonly requestedAt: TimestampMs;
};

/** What the agent reports of the last profile that it was asked for. */
export const PROFILE_PHASES = ['RECORDING', 'RECORDED', 'FAILED'] as const;

export type ReplicaProfile = {
  readonly requestId: string;
  readonly state: (typeof PROFILE_PHASES)[number];
  /** Why it failed, and what to do next; otherwise empty. */
  readonly message: string;
};

export type ProfileState = 'REQUESTED' | ReplicaProfile['state'];

export function profileIdOf(attempt: number, replica: string, ordinal: number): string {
  return `attempt-${attempt}-${replica}-${ordinal}`;
}

/** Whether answers to heartbeats still carry the request. Afterwards it has failed unless the agent has started. */
export function isProfileOffered({ requestedAt }: ProfileRequest, now: TimestampMs): boolean {
  return now < requestedAt + PROFILE_START_MS_MAX;
}

/** The state of a request, by what the agent has reported of it. Every request ends: in the worst case by time. */
export function profileStateOf(
  request: ProfileRequest,
  reported: ReplicaProfile | null,
  now: TimestampMs,
): { readonly state: ProfileState; readonly message: string } {
  const { replica, seconds, requestedAt } = request;
  if (reported?.requestId !== request.requestId) {
    const message =
      `The agent of ${replica} did not start within ${PROFILE_START_MS_MAX / 1_000} s. ` +
      'Its VM sends no heartbeats, or it was created by a version of Dropforge that has no profiles.';
    return isProfileOffered(request, now) ? { state: 'REQUESTED', message: '' } : { state: 'FAILED', message };
  }
  const { state, message } = reported;
  const isOverdue = now >= requestedAt + PROFILE_START_MS_MAX + seconds * 1_000 + PROFILE_SAVE_MS_MAX;
  return state === 'RECORDING' && isOverdue
    ? { state: 'FAILED', message: `The agent of ${replica} has not reported the end of the profile. Profile it again.` }
    : { state, message };
}
