import * as z from 'zod';
import { historySchema } from '#shared/domain/history-entry.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { notificationRecordSchema } from '#shared/ports/notification-log.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { problemSchema } from '#shared/protocol/problem.ts';
import { trialViewSchema } from '#shared/protocol/tuning-view.ts';
import { curveSchema } from '#shared/tuning/trial.ts';

/** Answers of the API that have no file of their own. */

const nextPageToken = z.string().optional();

export const jobListSchema = z.object({ jobs: z.array(jobViewSchema), nextPageToken });

export const trialPageSchema = z.object({ trials: z.array(trialViewSchema), nextPageToken });

/** A trial with what its program has reported so far. */
export const trialDetailSchema = trialViewSchema.extend({ curve: curveSchema.shape.points });

export const jobHistorySchema = z.object({ history: historySchema });

/** The VM in which a shell can be opened. */
export const shellTargetSchema = z.object({
  jobId: z.string(),
  replica: z.string(),
  vmName: z.string(),
  zone: z.string(),
  /** Whether its program has failed, and the VM is kept for a look. */
  isKept: z.boolean(),
});

const channelSchema = z.object({
  channel: z.string(),
  kind: z.string(),
  states: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  trials: z.boolean(),
  last: notificationRecordSchema.nullable(),
});
export type ListedChannel = z.infer<typeof channelSchema>;

/** The channels with the last notification of each, and those that were not delivered, of former channels, too. */
export const notificationListSchema = z.object({
  channels: z.array(channelSchema),
  failed: z.array(notificationRecordSchema),
});

export const notificationTestsSchema = z.object({
  tests: z.array(z.object({ channel: z.string(), notificationId: z.string() })),
});

/** An error of any route; with `problems` and `warnings` for a submission. */
export const errorSchema = z.object({
  error: z.object({ code: z.int(), message: z.string(), remedy: z.string() }),
  jobId: z.string().nullable().optional(),
  problems: z.array(problemSchema).optional(),
  warnings: z.array(problemSchema).optional(),
});

export const uploadedPartSchema = z.object({ uploadId: z.string(), part: z.int() });

/** The course of one metric of a job, for a list of jobs. */
const sparklineSchema = z.object({
  jobId: z.string(),
  name: z.string(),
  /** Steps, or milliseconds since the Unix epoch if the metric has none; increasing. */
  positions: z.array(z.number()),
  /** The values of the finite points, as many as positions; empty if there are none. */
  values: z.array(z.number()),
  /** No point is added any more. */
  isFinal: z.boolean(),
});
export type Sparkline = Stated<typeof sparklineSchema>;

/**
 * `GET /v1/metrics/sparklines?series=JOB:METRIC&series=…`. A job that does not exist is left out, and so is one whose
 * history was not read because of a limit: request it again.
 */
export const sparklinesSchema = z.object({ sparklines: z.array(sparklineSchema) });
export type Sparklines = Stated<typeof sparklinesSchema>;
