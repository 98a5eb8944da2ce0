import * as z from 'zod';
import { gitCommitSchema } from '#shared/domain/git-commit.ts';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';
import { ATTEMPT_PHASES } from '#shared/domain/timeline.ts';
import { problemSchema } from '#shared/protocol/problem.ts';
import { tuningViewSchema } from '#shared/protocol/tuning-view.ts';

/** The image that a group of machines runs, as it was found in its registry. */
const imageViewSchema = z.object({
  role: z.string(),
  /** The name in the job file: `python:3.12`. */
  requested: z.string(),
  /** `sha256:…`, in full. */
  digest: z.string(),
  /** The size of the download: all layers, compressed. */
  sizeBytes: z.number(),
  /** `linux/amd64`; null if unknown. */
  platform: z.string().nullable(),
});

/**
 * The user-facing view of a job: in the API, in `describe` and in the report. Times are RFC 3339, as on AI Platform.
 */
export const jobViewSchema = z.object({
  jobId: z.string(),
  state: z.string(),
  createTime: z.string(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  errorMessage: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  jobDir: z.string(),
  source: z.string(),
  report: z.string(),
  /** E-mail address that was proven at submission; null for submissions that prove none. */
  submittedBy: z.string().nullable().default(null),
  /** The commit of the folder that was packed, as the client stated it. */
  git: gitCommitSchema.nullable().default(null),
  attempt: z.int(),
  placement: z.object({ zone: z.string(), provisioningModel: z.string(), machineImage: z.string() }).nullable(),
  machines: z.array(
    z.object({
      role: z.string(),
      count: z.int(),
      machineType: z.string(),
      accelerator: z.string().nullable(),
      /** Absent for that of the placement. */
      provisioningModel: z.string().optional(),
    }),
  ),
  /** Those of containers, a row for each group; empty for jobs without containers. */
  images: z.array(imageViewSchema).default([]),
  cause: z
    .object({
      code: z.string(),
      class: z.string(),
      message: z.string(),
      remedy: z.string(),
      evidence: z.array(z.string()),
      /** The conclusion of the rules of diagnosis; null if no rule applies. `remedy` is then theirs. */
      label: z.string().nullable().default(null),
      /** Whether the same job can succeed when it is started again; null if that is unknown. */
      canRetryHelp: z.boolean().nullable().default(null),
      /** The line of the evidence from which the label follows; null if there is none. */
      rootLine: z.string().nullable().default(null),
      /** The rule in the documentation; null without a label. */
      link: z.string().nullable().default(null),
    })
    .nullable(),
  waitingFor: z.object({ code: z.string(), message: z.string() }).nullable(),
  attempts: z.array(
    z.object({
      attempt: z.int(),
      zone: z.string().nullable(),
      startTime: z.string().nullable(),
      endTime: z.string(),
      cause: z.string().nullable(),
      message: z.string().nullable(),
    }),
  ),
  replicas: z.array(
    z.object({
      replica: z.string(),
      role: z.string().default(''),
      index: z.int().default(0),
      attempt: z.int(),
      vmName: z.string(),
      instanceId: z.string(),
      phase: z.string(),
      heardTime: z.string(),
      /** How often the VM has booted again in the attempt. */
      restarts: z.int().default(0),
      /** The exit code of its program; null while that runs. */
      exitCode: z.int().nullable().default(null),
      /** Why its own program failed or its VM was interrupted, whatever decided the job. */
      cause: z.object({ code: z.string(), message: z.string() }).nullable().default(null),
      cpuFraction: z.number().nullable(),
      memoryBytes: z.number().nullable(),
      memoryBytesMax: z.number().nullable(),
      diskBytes: z.number().nullable(),
      gpus: z.array(
        z.object({ name: z.string(), busyFraction: z.number(), memoryBytes: z.number(), memoryBytesMax: z.number() }),
      ),
      step: z.number().nullable(),
      stepsMax: z.number().nullable(),
      /** The last values; one that is not a finite number is `NaN`, `Infinity` or `-Infinity`, as text. */
      metrics: z.record(z.string(), z.union([z.number(), z.enum(NON_FINITE_VALUES)])),
    }),
  ),
  /** Set for a hyperparameter tuning: its trials are jobs of their own. */
  tuning: tuningViewSchema.nullable().default(null),
  /** Set for the job of a trial. */
  trial: z.object({ tuningId: z.string(), trialId: z.string() }).nullable().default(null),
  /** The agents' findings about the training in the current attempt, the newest of each code and replica. */
  health: z
    .array(
      z.object({
        code: z.string(),
        replica: z.string(),
        message: z.string(),
        remedy: z.string(),
        evidence: z.array(z.string()),
        sinceTime: z.string(),
        /** Null while the condition lasts. */
        untilTime: z.string().nullable(),
      }),
    )
    .default([]),
  /**
   * The attempts with their phases, oldest first; the last phase has no end while the job is in it. Empty for a tuning,
   * and in reports of older versions.
   */
  timeline: z
    .array(
      z.object({
        attempt: z.int(),
        zone: z.string().nullable(),
        provisioningModel: z.string().nullable(),
        cause: z.string().nullable(),
        message: z.string().nullable(),
        phases: z.array(
          z.object({ phase: z.enum(ATTEMPT_PHASES), startTime: z.string(), endTime: z.string().nullable() }),
        ),
      }),
    )
    .default([]),
  /** The warnings of the current attempt's replicas; those of intake are in the report. */
  warnings: z.array(problemSchema).default([]),
  /** List prices of Compute Engine for the machines, in US dollars; null if a price is unknown. */
  price: z.object({
    perHourUsd: z.number().nullable(),
    billedSeconds: z.number(),
    totalUsd: z.number().nullable(),
    asOf: z.string(),
  }),
  /** The VM that stays, or stayed, after its program failed. */
  kept: z
    .object({
      replica: z.string(),
      vmName: z.string(),
      zone: z.string(),
      sinceTime: z.string(),
      /** When it is deleted at the latest. */
      untilTime: z.string(),
      /** When its end was decided or noticed; null while it is kept. */
      releaseTime: z.string().nullable(),
      perHourUsd: z.number().nullable(),
    })
    .nullable()
    .default(null),
});

export type ImageView = z.infer<typeof imageViewSchema>;
export type JobView = z.infer<typeof jobViewSchema>;
