import { z } from 'zod';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';

/** A problem or warning of a submission: what it is, where, and how to fix it. */
const problemSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  /** The field of the job file, `trainingInput.region`, or the entry of the archive. */
  path: z.string().optional(),
  line: z.int().optional(),
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
  attempt: z.int(),
  placement: z.object({ zone: z.string(), provisioningModel: z.string(), machineImage: z.string() }).nullable(),
  machines: z.array(
    z.object({ role: z.string(), count: z.int(), machineType: z.string(), accelerator: z.string().nullable() }),
  ),
  cause: z
    .object({
      code: z.string(),
      class: z.string(),
      message: z.string(),
      remedy: z.string(),
      evidence: z.array(z.string()),
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
  /** What the replicas of the current attempt reported; those of intake are in the report. */
  warnings: z.array(problemSchema).default([]),
  /** List prices of Compute Engine for the machines, in US dollars; null if a price is unknown. */
  price: z.object({
    perHourUsd: z.number().nullable(),
    billedSeconds: z.number(),
    totalUsd: z.number().nullable(),
    asOf: z.string(),
  }),
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
export type JobView = z.infer<typeof jobViewSchema>;
export type Report = z.infer<typeof reportSchema>;

export const REPORT_SUFFIX = '.report.json';
