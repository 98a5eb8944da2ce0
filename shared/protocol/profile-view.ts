import { z } from 'zod';
import { FRAME_KINDS } from '#shared/diagnosis/profile/frame-kinds.ts';
import { PROFILE_VERDICTS, type ProfileVerdict } from '#shared/diagnosis/profile/profile-verdict.ts';
import { PROFILE_PHASES, PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX } from '#shared/domain/profile.ts';

/** The body of `POST /v1/jobs/JOB:profile`. */
export const profileRequestSchema = z.object({
  seconds: z.int().min(1).max(PROFILE_SECONDS_MAX).default(PROFILE_SECONDS_DEFAULT),
  replica: z.string().max(64).default('master-0'),
});

const frame = { name: z.string(), file: z.string(), line: z.int().nullable() };
const fraction = z.number();

const verdictSchema = z.object({
  code: z.enum(PROFILE_VERDICTS),
  summary: z.string(),
  evidence: z.array(z.string()),
  remedy: z.string(),
  shares: z.record(z.enum(FRAME_KINDS), fraction),
  topFrames: z.array(
    z.object({ ...frame, fraction, kind: z.enum(FRAME_KINDS), calledFrom: z.object(frame).nullable() }),
  ),
});

/** A profile, and what follows from it. */
export const profileViewSchema = z.object({
  jobId: z.string(),
  profileId: z.string(),
  state: z.enum(['REQUESTED', ...PROFILE_PHASES]),
  /** Why it failed, and what to do next; otherwise empty. */
  message: z.string(),
  /** Null once a newer profile was asked for, or the job has ended. */
  replica: z.string().nullable(),
  seconds: z.int().nullable(),
  requestTime: z.string().nullable(),
  /** The speedscope file, for RECORDED: its URI, and its name below the job directory. */
  file: z.object({ uri: z.string(), name: z.string(), sizeBytes: z.int() }).nullable(),
  verdict: verdictSchema.nullable(),
});

/** `GET /v1/jobs/JOB/profiles`: the newest PROFILES_LISTED_MAX, newest first, without verdicts. */
export const profileListSchema = z.object({ profiles: z.array(profileViewSchema.omit({ verdict: true })) });

export const PROFILES_LISTED_MAX = 50;

export type ProfileView = z.infer<typeof profileViewSchema>;
export type ProfileList = z.infer<typeof profileListSchema>;

export function viewVerdict({ evidence, topFrames, shares, ...rest }: ProfileVerdict): ProfileView['verdict'] {
  return { ...rest, evidence: [...evidence], shares: { ...shares }, topFrames: [...topFrames] };
}
