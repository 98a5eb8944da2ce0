import { isDeepStrictEqual } from 'node:util';
import type { JobSpec, Program } from '#shared/domain/job-spec.ts';
import { draftOfSpec } from '#shared/job-file/draft/draft-of-spec.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

export type PrintedSpec = {
  readonly jobFile: string;
  readonly dialect: Dialect;
  /** Whether the file reads as exactly this job; otherwise no format has a field for a part of it. */
  readonly isComplete: boolean;
};

/** Every field with a default is printed, unless it is the default of the format: none of these values is used. */
const CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '0.0', jobDirBase: 'gs://unused' },
  packageBase: null,
  uploadBucket: null,
};

const FORMATS = {
  AI_PLATFORM: ['ai-platform', 'dropforge', 'vertex-ai'],
  VERTEX_AI: ['dropforge', 'vertex-ai', 'ai-platform'],
} as const satisfies Record<JobSpec['service'], readonly Dialect[]>;

/** Prints an accepted job as the shortest job file that reads as the same job, preferably in Dropforge's own format. */
export function printSpec(spec: JobSpec): PrintedSpec {
  const styles = FORMATS[spec.service].flatMap((dialect) => [true, false].map((isBrief) => ({ dialect, isBrief })));
  for (const style of styles) {
    const jobFile = printJobFile(draftOfSpec(spec, style));
    if (isDeepStrictEqual(comparable(readSpec(jobFile)), comparable(spec))) {
      return { jobFile, dialect: style.dialect, isComplete: true };
    }
  }
  const [dialect] = FORMATS[spec.service];
  return { jobFile: printJobFile(draftOfSpec(spec, { dialect, isBrief: false })), dialect, isComplete: false };
}

function readSpec(jobFile: string): JobSpec | null {
  const { draft } = readJobFile(jobFile, { fileName: 'job.yaml' });
  return draft === null ? null : checkJob(draft, CONTEXT).spec;
}

/**
 * Intake derives `passesJobDir` from the program and finds the images; undefined and absent options mean the same. A
 * container has no runtime, and its VM boots from the default one.
 */
function comparable(spec: JobSpec | null): unknown {
  if (spec === null) {
    return null;
  }
  const withoutImage = (program: Program) => ({ ...program, image: undefined });
  const given = {
    ...spec,
    passesJobDir: undefined,
    program: withoutImage(spec.program),
    replicaGroups: spec.replicaGroups.map((group) => ({
      ...group,
      program: group.program && withoutImage(group.program),
    })),
    ...(spec.program.kind === 'CONTAINER' && { runtimeVersion: undefined }),
  };
  return JSON.parse(JSON.stringify(given));
}
