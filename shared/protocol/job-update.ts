import * as z from 'zod';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';

/** Raised when a field changes its meaning or disappears; new fields and new types do not raise it. */
export const JOB_UPDATE_SCHEMA_VERSION = 1;

/** The largest message of the topic `job-updates`, as JSON in UTF-8. Texts are truncated to stay below it. */
export const JOB_UPDATE_BYTES_MAX = 32 << 10;

/** Message type of an uploaded file that did not become a job. */
export const REFUSED_STATE = 'REFUSED';

const jobId = z.string().regex(JOB_ID_PATTERN);

const rfc3339 = z.string().describe('RFC 3339, in UTC');

const causeSchema = z
  .object({
    code: z.string().describe('A code of docs/job-lifecycle.md, such as PROGRAM_FAILED.'),
    class: z.string().describe('user, configuration, capacity, quota, interruption, internal or cancel.'),
    message: z.string().describe('What happened, in one or a few sentences.'),
    remedy: z.string().describe('What to do next.'),
    label: z.string().nullable().describe('The label of docs/diagnosis.md, such as gpu_oom; null if no rule applies.'),
    canRetryHelp: z
      .boolean()
      .nullable()
      .describe('Whether the same job can succeed if it is started again; null if that is unknown.'),
    evidence: z.array(z.string()).describe('The last lines that show the cause; shortened.'),
  })
  .describe('Why the job, or its last attempt, ended.');

const linksSchema = z
  .object({
    page: z.string().nullable().describe('The page of the job; null if the deployment has no address for it.'),
    logs: z.string().nullable().describe('The log of the job on the HTTP API; needs an identity token.'),
    report: z.string().describe('gs:// address of the report beside the upload.'),
    jobDirectory: z.string().describe('gs:// address of the job directory: models, checkpoints, logs.'),
  })
  .describe('Where to read more.');

const snapshotSchema = z
  .object({
    kind: z.enum(['TRAINING', 'TUNING', 'TRIAL']).describe('TRIAL is one training of a tuning.'),
    tuningId: z.string().nullable().describe('Of a trial, the job id of its tuning.'),
    labels: z.record(z.string(), z.string()).describe('The labels of the job file.'),
    createTime: rfc3339,
    startTime: rfc3339.nullable().describe('When the program first ran; null if it has not.'),
    endTime: rfc3339.nullable().describe('When the job ended; null if it has not.'),
    cause: causeSchema.nullable().describe('Why the job failed or was cancelled; null otherwise.'),
    interruption: causeSchema
      .nullable()
      .describe('Why the previous attempt ended, if this update starts another one; null otherwise.'),
    costUsd: z
      .number()
      .nullable()
      .describe('List price of all VMs of the job, in US dollars; null until it has ended, or if unknown.'),
    links: linksSchema,
  })
  .describe('The job when the message was published.');

/** A job update, on the topic `job-updates`: the state that users see changed. */
export const jobUpdateSchema = z.object({
  type: z.literal('JOB_UPDATE').describe('JOB_UPDATE.'),
  schemaVersion: z.int().default(0).describe('1. A higher version has other meanings.'),
  jobId: jobId.describe('The job id; a tuning has one, too.'),
  state: z.string().describe('QUEUED, PREPARING, RUNNING, SUCCEEDED, FAILED, CANCELLING or CANCELLED.'),
  attempt: z.int().min(0).describe('From 1; each interruption and restart starts another. 0 for a tuning.'),
  job: snapshotSchema
    .nullable()
    .default(null)
    .describe('Null if the job had another state or attempt when the message was published, or if rendering failed.'),
});

/** An upload that was refused, on the topic `job-updates`. */
export const uploadRefusedSchema = z.object({
  type: z.literal('UPLOAD_REFUSED').describe('UPLOAD_REFUSED.'),
  schemaVersion: z.int().default(0).describe('1. A higher version has other meanings.'),
  uploadId: z.string().min(1).max(64).describe('The same for each message about this version of the upload.'),
  jobId: z.string().max(128).nullable().describe('The job id that the file asks for; null if it names none.'),
  state: z.literal(REFUSED_STATE).describe('REFUSED.'),
  source: z.string().describe('gs:// address of the upload, or the message that submitted the job.'),
  report: z.string().describe('gs:// address of the report, which has all problems.'),
  problems: z
    .array(z.object({ code: z.string(), message: z.string(), remedy: z.string() }))
    .describe('The first problems; shortened.'),
  problemCount: z.int().min(0).describe('How many problems the report has.'),
});

/** A test of one notification channel, on the topic `job-updates`. */
const notificationTestSchema = z.object({
  type: z.literal('NOTIFICATION_TEST').describe('NOTIFICATION_TEST. Subscribers ignore it.'),
  testId: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  channel: z.string(),
});

/** Every message of the topic `job-updates`. Subscribers ignore types that they do not know. */
export const jobUpdatesMessageSchema = z.union([jobUpdateSchema, uploadRefusedSchema, notificationTestSchema]);

export type JobUpdateMessage = z.infer<typeof jobUpdateSchema>;
export type JobSnapshot = z.infer<typeof snapshotSchema>;
export type UploadRefused = z.infer<typeof uploadRefusedSchema>;
export type NotificationTest = z.infer<typeof notificationTestSchema>;
export type JobUpdatesMessage = z.infer<typeof jobUpdatesMessageSchema>;
