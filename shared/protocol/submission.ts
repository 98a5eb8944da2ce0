import * as z from 'zod';
import { gitCommitSchema } from '#shared/domain/git-commit.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { SUBMIT_COMMANDS } from '#shared/domain/job-text.ts';
import type { ImageView, JobView } from '#shared/protocol/job-view.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Cloud Run rejects requests of more than 32 MiB (docs, "Quotas and limits"). */
export const UPLOAD_PART_BYTES_MAX = 8 << 20;
export const UPLOAD_PARTS_MAX = 64;
export const SUBMITTED_JOB_FILE_BYTES_MAX = 1 << 20;

const FILE_NAME_CHARACTERS_MAX = 200;
const FLAGS_COUNT_MAX = 10_000;

const jobId = z.string().regex(JOB_ID_PATTERN);
const jobFile = z.string().max(SUBMITTED_JOB_FILE_BYTES_MAX);

/** Chosen by the client: a repeated request belongs to the same upload. */
export const uploadIdSchema = z.string().regex(/^[a-z0-9]{16,40}$/);

/** The number of a part, from 1. */
export const uploadPartSchema = z.coerce.number().int().min(1).max(UPLOAD_PARTS_MAX);

/** `POST /v1/uploads/UPLOAD:validate`: what is known about a job whose package was uploaded in parts. */
export const validateUploadSchema = z.object({
  /** The file name of the package, without its folder: its extension decides the format. */
  fileName: z.string().regex(/^[\w][\w.+-]{0,199}$/),
  partCount: z.int().min(1).max(UPLOAD_PARTS_MAX),
  /** Replaces that of the job file. */
  jobId: jobId.optional(),
  /** Replaces the job file of the package. */
  jobFile: jobFile.optional(),
});

/** `POST /v1/uploads/UPLOAD:start`: as validated, under a job id that the client chose. */
export const startUploadSchema = validateUploadSchema.extend({ jobId });

/** `POST /v1/jobs`: a job whose packages are in a bucket. */
export const submitJobFileSchema = z.object({
  /** Null for a job that flags alone describe. */
  jobFile: jobFile.nullable(),
  jobId,
  fileName: z.string().max(FILE_NAME_CHARACTERS_MAX).default('job.yaml'),
  command: z.enum(SUBMIT_COMMANDS).default('jobs submit training'),
  /** Override the job file, as in `dropforge` COMMAND. */
  flags: z.array(z.string().max(SUBMITTED_JOB_FILE_BYTES_MAX)).max(FLAGS_COUNT_MAX).default([]),
  git: gitCommitSchema.optional(),
});

export type ValidateUpload = z.infer<typeof validateUploadSchema>;
export type StartUpload = z.infer<typeof startUploadSchema>;
export type SubmitJobFile = z.infer<typeof submitJobFileSchema>;

/** The plan of what a submission would start, and everything that is wrong with it. */
export type SubmissionVerdict = {
  /** WAITING: a package that the job file names does not exist. */
  readonly verdict: 'ACCEPTED' | 'REFUSED' | 'WAITING';
  readonly jobId: string | null;
  /** The job file that was validated; null if the package has none. */
  readonly jobFile: { readonly fileName: string; readonly text: string } | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The images of containers that were found in their registries. */
  readonly images: readonly ImageView[];
  /** Null if the job file does not specify them or has errors there. */
  readonly plan: {
    readonly machines: JobView['machines'];
    readonly provisioningModel: string;
    readonly region: string;
    /** After which the job is ended; null for no limit. */
    readonly runningSecondsMax: number | null;
    readonly perHourUsd: number | null;
    readonly onDemandPerHourUsd: number | null;
    readonly pricesAsOf: string;
    /** Set for a tuning: the price is that of the trials that run at once. */
    readonly trials: { readonly max: number | null; readonly parallel: number | null } | null;
  } | null;
  /** Null if the archive cannot be read. */
  readonly package: { readonly files: number; readonly bytes: number; readonly modules: readonly string[] } | null;
};
