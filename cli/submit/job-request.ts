import { basename, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { describeError, Failure } from '#cli/core/failure.ts';
import { OFFLINE_CONTEXT, readJobFileBytes } from '#cli/submit/job-file.ts';
import { dryRunUri, type PackageSource } from '#cli/submit/package-source.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { type Dialect, type JobDraft, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { type JobFileReading, readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** A job as specified by a command line: the job file, overridden by flags. */
export type JobRequest = {
  /** The result of reading `--config`: an empty draft without it, a null draft if the file is invalid. */
  readonly file: JobFileReading;
  readonly packages: readonly PackageSource[];
  /** Notes on flags without effect; warnings about the job file are separate. */
  readonly notes: readonly Problem[];
  /** Applies the flags to the file's draft. `uriOf` returns the URI of a package. */
  readonly applyFlags: (draft: JobDraft, uriOf: (source: PackageSource) => string) => JobDraft;
  /** Appends a suffix to the name, for formats whose names need not be unique. Undefined if the name is the job id. */
  readonly rename?: (suffix: string) => JobRequest;
};

export type ValidatedRequest = {
  /** The job file to upload; null if the input file is invalid. */
  readonly jobFile: string | null;
  readonly jobId: string | null;
  /** Null if the spec is incomplete. A job with problems must not be submitted even if there is a spec. */
  readonly spec: JobSpec | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

const DIALECT_NAMES = {
  'ai-platform': 'AI Platform',
  'vertex-ai': 'Vertex AI',
  dropforge: 'Dropforge',
} as const satisfies Record<Dialect, string>;

/** Reads the file given by `--config`; returns `empty` without it. */
export async function readConfig({ flag, io }: Invocation, empty: JobDraft): Promise<JobFileReading> {
  const config = flag('config');
  if (config === undefined) {
    return { draft: empty, problems: [], warnings: [], unsupported: [] };
  }
  const path = resolve(io.cwd, config);
  try {
    return readJobFile(await readJobFileBytes(path), { fileName: basename(path) });
  } catch (error) {
    throw new Failure(`The job file ${path} cannot be read (${describeError(error)}): check --config.`);
  }
}

/** Validates a request offline, before anything is built or sent: these problems are independent of the deployment. */
export function validateRequest({ file, notes, applyFlags }: JobRequest): ValidatedRequest {
  if (file.draft === null) {
    return { jobFile: null, jobId: null, spec: null, problems: file.problems, warnings: file.warnings };
  }
  const draft = applyFlags(file.draft, dryRunUri);
  const jobFile = printJobFile(draft);
  const { spec, problems, unsupported, warnings } = checkJob(draft, OFFLINE_CONTEXT);
  const found = inFileOrder([...problems, ...unsupported, ...findDroppedFlags(draft, jobFile)]);
  return {
    jobFile,
    jobId: spec?.jobId ?? draft.jobId?.value ?? draft.displayName?.value ?? null,
    spec,
    problems: found,
    warnings: [...warnings, ...notes],
  };
}

/** Reports flags for which the job file's format has no field: the uploaded job would differ from the requested one. */
function findDroppedFlags(draft: JobDraft, jobFile: string): readonly Problem[] {
  const reread = readJobFile(jobFile, { fileName: 'job.yaml' }).draft;
  const keyOf = ({ name, value }: { readonly name: string; readonly value: unknown }) =>
    `${name} ${JSON.stringify(value)}`;
  const kept = new Set(reread === null ? [] : listDraftValues(reread).map(keyOf));
  const dropped = listDraftValues(draft).filter((one) => one.path.startsWith('--') && !kept.has(keyOf(one)));
  return [...new Set(dropped.map(({ path }) => path))].map((path) => ({
    code: 'FLAG_NOT_IN_FORM',
    message: `The ${DIALECT_NAMES[draft.dialect]} job file format has no field for ${path}.`,
    remedy: 'Remove the flag, or set the equivalent field of that format in the job file.',
    path,
  }));
}
