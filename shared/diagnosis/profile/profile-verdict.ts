import type { FrameKind } from '#shared/diagnosis/profile/frame-kinds.ts';
import type { Frame } from '#shared/diagnosis/profile/profile-samples.ts';

/** What limits the training. DEVICE_BOUND: native code, on the GPU or, without one, on the CPU. */
export const PROFILE_VERDICTS = ['INPUT_BOUND', 'PYTHON_BOUND', 'DEVICE_BOUND', 'UNCLEAR'] as const;
export type ProfileVerdictCode = (typeof PROFILE_VERDICTS)[number];

/** Of the main thread's time, each 0 to 1. */
export type ProfileShares = Readonly<Record<FrameKind, number>>;

/** A function in which the main thread spent time itself. */
export type TopFrame = Frame & {
  readonly fraction: number;
  readonly kind: FrameKind;
  /** The innermost frame of the program itself on the stack; null if it is this one, or there is none. */
  readonly calledFrom: Frame | null;
};

export type ProfileVerdict = {
  readonly code: ProfileVerdictCode;
  readonly summary: string;
  readonly evidence: readonly string[];
  readonly remedy: string;
  readonly shares: ProfileShares;
  readonly topFrames: readonly TopFrame[];
};
