import { basename, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { describeError, Failure } from '#cli/core/failure.ts';
import { OFFLINE_CONTEXT, readJobFileBytes } from '#cli/submit/job-file.ts';
import { nameInDryRun, type PackageSource } from '#cli/submit/package-source.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { listDraftValues } from '#shared/job-file/draft/draft-values.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { type JobFileReading, readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** A job as a command line asks for it: what the file says, and what flags say over it. */
export type JobRequest = {
  /** Or an empty draft; null where the file is no job. */
  readonly file: JobFileReading;
  readonly packages: readonly PackageSource[];
  /** What was said and has no effect, but for what the job file itself is warned of. */
  readonly notes: readonly Problem[];
  /** What is in the job besides the file, with the address that each package then has. */
  readonly applyFlags: (draft: JobDraft, addressOf: (source: PackageSource) => string) => JobDraft;
  /** The same job with this behind its name, where names need not be unique; without it a name is good for one job. */
  readonly rename?: (suffix: string) => JobRequest;
};

export type JudgedRequest = {
  /** What would be uploaded; null where the file is no job. */
  readonly jobFile: string | null;
  readonly jobId: string | null;
  /** Null where it could not be completed; with problems it must not be submitted all the same. */
  readonly spec: JobSpec | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

const DIALECT_NAMES = {
  'ai-platform': 'of AI Platform',
  'vertex-ai': 'of Vertex AI',
  dropforge: "in Dropforge's own form",
} as const satisfies Record<Dialect, string>;

/** What `--config` names. */
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

/** Judges a request before anything is built or sent. No cloud is needed: no deployment could heal what is wrong. */
export function judgeRequest({ file, notes, applyFlags }: JobRequest): JudgedRequest {
  if (file.draft === null) {
    return { jobFile: null, jobId: null, spec: null, problems: file.problems, warnings: file.warnings };
  }
  const draft = applyFlags(file.draft, nameInDryRun);
  const jobFile = printJobFile(draft);
  const { spec, problems, unsupported, warnings } = checkJob(draft, OFFLINE_CONTEXT);
  const found = inFileOrder([...problems, ...unsupported, ...findLostFlags(draft, jobFile)]);
  return {
    jobFile,
    jobId: spec?.jobId ?? draft.jobId?.value ?? draft.displayName?.value ?? null,
    spec,
    problems: found,
    warnings: [...warnings, ...notes],
  };
}

/** A form of job files may have no field for what a flag says; then the job would be another one than was asked for. */
function findLostFlags(draft: JobDraft, jobFile: string): readonly Problem[] {
  const again = readJobFile(jobFile, { fileName: 'job.yaml' }).draft;
  const keyOf = ({ name, value }: { readonly name: string; readonly value: unknown }) =>
    `${name} ${JSON.stringify(value)}`;
  const kept = new Set(again === null ? [] : listDraftValues(again).map(keyOf));
  const lost = listDraftValues(draft).filter((one) => one.path.startsWith('--') && !kept.has(keyOf(one)));
  return [...new Set(lost.map(({ path }) => path))].map((path) => ({
    code: 'FLAG_NOT_IN_FORM',
    message: `A job file ${DIALECT_NAMES[draft.dialect]} has no field for ${path}.`,
    remedy: 'Leave the flag out, or say in the job file what that form has for it.',
    path,
  }));
}
