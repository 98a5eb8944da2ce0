import * as z from 'zod';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';
import type { Study } from '#shared/domain/study.ts';
import { ATTEMPT_PHASES } from '#shared/domain/timeline.ts';

/** A problem or warning of a submission: what it is, where, and how to fix it. */
export const problemSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  /** The field of the job file, `trainingInput.region`, or the entry of the archive. */
  path: z.string().optional(),
  line: z.int().optional(),
});

/** Vertex AI's states of a trial (`Trial.State`), plus LOST for a trial that a machine or a user ended. */
export const TRIAL_STATES = ['REQUESTED', 'ACTIVE', 'STOPPING', 'SUCCEEDED', 'INFEASIBLE', 'FAILED', 'LOST'] as const;

/** One trial of a tuning. */
export const trialViewSchema = z.object({
  /** The ordinal as text: the first trial is `1`. */
  trialId: z.string(),
  jobId: z.string(),
  state: z.enum(TRIAL_STATES),
  parameters: z.record(z.string(), z.union([z.string(), z.number()])),
  /** The measurement that counts; of a trial that has not ended, the last one. Null if there is none. */
  objective: z.number().nullable(),
  /** With several objectives, the value of each by its metric; otherwise empty. `objective` is the first. */
  objectives: z.record(z.string(), z.number().nullable()).default({}),
  step: z.number().nullable(),
  isTrialStoppedEarly: z.boolean(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  costUsd: z.number().nullable(),
  /** Why a trial is INFEASIBLE, FAILED or LOST, in one sentence. */
  reason: z.string().nullable(),
  /** The lost trial whose values this one repeats. */
  repeats: z.string().nullable(),
});

/** The fields that a tuning adds to the view of a job. */
export const tuningViewSchema = z.object({
  metricId: z.string(),
  goal: z.enum(['MAXIMIZE', 'MINIMIZE']),
  /** With several objectives, all of them; `metricId` and `goal` are the first. Otherwise empty. */
  objectives: z.array(z.object({ metricId: z.string(), goal: z.enum(['MAXIMIZE', 'MINIMIZE']) })).default([]),
  algorithm: z.string(),
  /** The rule of early stopping that is applied; null for none. */
  earlyStopping: z.enum(['MEDIAN', 'ASHA']).nullable(),
  trialsMax: z.int(),
  parallelTrialsMax: z.int(),
  /** Trials that have ended, well or not, without those that were lost; AI Platform counts only those that succeeded. */
  endedTrialCount: z.int(),
  counts: z.object({
    succeeded: z.int(),
    stoppedEarly: z.int(),
    infeasible: z.int(),
    failed: z.int(),
    lost: z.int(),
    running: z.int(),
  }),
  /** Null with several objectives. */
  best: trialViewSchema.nullable(),
  /**
   * With several objectives, how many trials are optimal: no other trial is better in one objective and at least
   * as good in all others. With some of them, by their first objective; none in lists. Null with one objective.
   */
  optimal: z
    .object({ count: z.int(), trials: z.array(trialViewSchema) })
    .nullable()
    .default(null),
  /**
   * The trial whose values are expected to be best, given the results of all trials, with the objective that they are
   * expected to have. Set when the tuning has ended, if the metric is so noisy that another trial reported the best
   * one, which was also lucky.
   */
  recommended: z.object({ trial: trialViewSchema, expectedObjective: z.number() }).nullable().default(null),
  /** Why the tuning ended; null while it runs. */
  stopReason: z.string().nullable(),
  maxCostUsd: z.number().nullable(),
  /** From the trials that have ended; null before the first, and for a tuning that has ended. */
  forecast: z.object({ endTime: z.string().nullable(), totalUsd: z.number().nullable() }).nullable(),
  resumes: z.array(z.string()),
  /** The study as validated: descriptions in Vertex AI's form and exports show the parameters. */
  study: z.custom<Study>((value) => typeof value === 'object' && value !== null && 'parameters' in value),
});

/** The image that a group of machines runs, as it was found in its registry. */
export const imageViewSchema = z.object({
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
  attempt: z.int(),
  placement: z.object({ zone: z.string(), provisioningModel: z.string(), machineImage: z.string() }).nullable(),
  machines: z.array(
    z.object({ role: z.string(), count: z.int(), machineType: z.string(), accelerator: z.string().nullable() }),
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
      attempt: z.int(),
      vmName: z.string(),
      instanceId: z.string(),
      phase: z.string(),
      heardTime: z.string(),
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

/**
 * The report object that is written beside an upload: the verdict of intake, and then the state of the job. It
 * describes the newest upload with that name.
 */
export const reportSchema = z.object({
  verdict: z.enum(['ACCEPTED', 'REFUSED', 'WAITING']),
  source: z.string(),
  /** The generation of the upload; missing if the job was submitted by a message. */
  generation: z.string().regex(/^\d+$/).optional(),
  /** The `gs://` URI of the report on an earlier upload with this name. */
  earlierReport: z.string().optional(),
  jobId: z.string().nullable(),
  problems: z.array(problemSchema),
  warnings: z.array(problemSchema),
  job: jobViewSchema.nullable(),
});

export type Problem = z.infer<typeof problemSchema>;
export type ImageView = z.infer<typeof imageViewSchema>;
export type TrialView = z.infer<typeof trialViewSchema>;
export type TuningView = z.infer<typeof tuningViewSchema>;
export type JobView = z.infer<typeof jobViewSchema>;
export type Report = z.infer<typeof reportSchema>;

export const REPORT_SUFFIX = '.report.json';
