import * as z from 'zod';
import { gitCommitSchema } from '#shared/domain/git-commit.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { SUBMIT_COMMANDS } from '#shared/domain/job-text.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { problemSchema } from '#shared/protocol/problem.ts';

/** Cloud Run rejects requests of more than 32 MiB (docs, "Quotas and limits"). */
export const UPLOAD_PART_BYTES_MAX = 8 << 20;
export const UPLOAD_PARTS_MAX = 64;
export const SUBMITTED_JOB_FILE_BYTES_MAX = 1 << 20;

const FILE_NAME_CHARACTERS_MAX = 200;
export const SHELL_COMMAND_CHARACTERS_MAX = 2_000;
const FLAGS_COUNT_MAX = 10_000;

/** `POST /v1/jobs/JOB:openShell`. */
export const shellRequestSchema = z.object({
  replica: z.string().max(100).optional(),
  /** The command that is run instead of a shell, for the record. */
  command: z.string().max(SHELL_COMMAND_CHARACTERS_MAX).optional(),
});

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
export const submissionVerdictSchema = z.object({
  /** WAITING: a package that the job file names does not exist. */
  verdict: z.enum(['ACCEPTED', 'REFUSED', 'WAITING']),
  jobId: z.string().nullable(),
  /** The job file that was validated; null if the package has none. */
  jobFile: z.object({ fileName: z.string(), text: z.string() }).nullable(),
  problems: z.array(problemSchema),
  warnings: z.array(problemSchema),
  /** The images of containers that were found in their registries. */
  images: jobViewSchema.shape.images.unwrap(),
  /** Null if the job file does not specify them or has errors there. */
  plan: z
    .object({
      machines: jobViewSchema.shape.machines,
      provisioningModel: z.string(),
      region: z.string(),
      /** After which the job is ended; null for no limit. */
      runningSecondsMax: z.number().nullable(),
      perHourUsd: z.number().nullable(),
      onDemandPerHourUsd: z.number().nullable(),
      pricesAsOf: z.string(),
      /** Set for a tuning: the price is that of the trials that run at once. */
      trials: z.object({ max: z.number().nullable(), parallel: z.number().nullable() }).nullable(),
    })
    .nullable(),
  /** Null if the archive cannot be read. */
  package: z.object({ files: z.int(), bytes: z.number(), modules: z.array(z.string()) }).nullable(),
});
export type SubmissionVerdict = Stated<typeof submissionVerdictSchema>;
