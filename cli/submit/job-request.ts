import { basename, dirname, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { describeFileError, Failure } from '#cli/core/failure.ts';
import { OFFLINE_CONTEXT, readJobFileBytes } from '#cli/submit/job-file.ts';
import { dryRunUri, type PackageSource } from '#cli/submit/package-source.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { SubmitCommand } from '#shared/domain/job-text.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { decodeJobFile } from '#shared/job-file/parser/parse-source.ts';
import { renamePackages } from '#shared/job-file/parser/rename-packages.ts';
import { emptyReadingOf, overrideDraft } from '#shared/job-file/read-job.ts';
import { type JobFileReading, readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { SentJob } from '#shared/protocol/job-text.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** The job file of a command line: that of `--config`, or the one that `run` finds. */
export type ConfigFile = {
  /** Null without a file, and if it is not text. */
  readonly text: string | null;
  readonly fileName: string;
  /** Its packages may be paths relative to it; null without a file. */
  readonly folder: string | null;
  /** An empty draft without a file, a null draft if the file is invalid. */
  readonly reading: JobFileReading;
};

type UriOf = (source: PackageSource) => string;

/** A job as specified by a command line: the job file, and the flags that override it. */
export type JobRequest = {
  readonly file: ConfigFile;
  readonly command: SubmitCommand;
  readonly jobId?: string | undefined;
  /** Packages that the flags name, and those that the file names by paths relative to it. */
  readonly packages: readonly PackageSource[];
  /** Notes on flags without effect; warnings about the job file are separate. */
  readonly notes: readonly Problem[];
  /** The flags that override the file. `uriOf` returns the URI of a package. */
  readonly writeFlags: (uriOf: UriOf) => readonly string[];
  /** Appends a suffix to the name, for formats whose names need not be unique. Undefined if the name is the job id. */
  readonly rename?: (suffix: string) => JobRequest;
};

export type ValidatedRequest = {
  /** The job file with its flags applied; null if the file is invalid. */
  readonly draft: JobDraft | null;
  readonly jobId: string | null;
  /** Null if the spec is incomplete. A job with problems must not be submitted even if there is a spec. */
  readonly spec: JobSpec | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

/** Reads the file given by `--config`. */
export async function readConfig({ flag, io }: Invocation, command: SubmitCommand): Promise<ConfigFile> {
  const config = flag('config');
  if (config === undefined) {
    return { text: null, fileName: 'job.yaml', folder: null, reading: emptyReadingOf(command) };
  }
  return readConfigFile(resolve(io.cwd, config), '--config');
}

/** Reads a job file. Throws Failure if it cannot be read; what it contains may be invalid. */
export async function readConfigFile(path: string, given = 'the path'): Promise<ConfigFile> {
  const fileName = basename(path);
  try {
    const bytes = await readJobFileBytes(path);
    return { text: decodeJobFile(bytes), fileName, folder: dirname(path), reading: readJobFile(bytes, { fileName }) };
  } catch (error) {
    throw new Failure(`The job file ${path} cannot be read (${describeFileError(error)}): check ${given}.`);
  }
}

/** Validates a request offline, before anything is built or sent: these problems are independent of the deployment. */
export function validateRequest({ file, command, jobId, notes, writeFlags }: JobRequest): ValidatedRequest {
  const { draft: read, problems: found, warnings: foundWarnings } = file.reading;
  if (read === null) {
    return { draft: null, jobId: null, spec: null, problems: found, warnings: foundWarnings };
  }
  const draft = overrideDraft(read, { jobId, command, flags: writeFlags(dryRunUri) });
  const { spec, problems, unsupported, warnings } = checkJob(draft, OFFLINE_CONTEXT);
  return {
    draft,
    jobId: spec?.jobId ?? draft.jobId?.value ?? draft.displayName?.value ?? null,
    spec,
    problems: inFileOrder([...problems, ...unsupported]),
    warnings: [...warnings, ...notes],
  };
}

/** The job as it is sent, with the URIs of its packages. */
export function writeJob({ file, command, jobId, packages, writeFlags }: JobRequest, uriOf: UriOf): SentJob {
  const uris = new Map(
    packages.flatMap((source) =>
      source.kind === 'ARCHIVE' && source.reference !== undefined ? [[source.reference, uriOf(source)]] : [],
    ),
  );
  const jobFile = file.text === null ? null : renamePackages(file.text, (name) => uris.get(name));
  return { jobFile, fileName: file.fileName, command, flags: writeFlags(uriOf), jobId };
}
