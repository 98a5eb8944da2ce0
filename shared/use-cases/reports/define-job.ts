import type { PackageRef, Warning } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { printSpec } from '#shared/job-file/print-spec.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import { TRIAL_JOB_ID_PATTERN } from '#shared/tuning/trial.ts';

export type Defined = {
  readonly spec: JobSpec;
  readonly packages: readonly PackageRef[];
  readonly warnings: readonly Warning[];
};

/** What a job runs, as a job file, and the submission that runs the same once more under a new id. */
export function defineJob({ spec, packages, warnings }: Defined): JobDefinition {
  const { jobFile, dialect, isComplete } = printSpec(spec);
  const again = printSpec(repeatedSpec(spec));
  const jobId = nextJobId(spec.jobId);
  return {
    jobId: spec.jobId,
    jobFile,
    dialect,
    isComplete,
    args: [...(spec.replicaGroups[0].program ?? spec.program).args],
    warnings: warnings.map((warning) => ({ ...warning })),
    packages: packages.map(({ uri, sizeBytes }) => ({ uri, sizeBytes })),
    repetition: { jobId, jobFile: again.jobFile, command: commandOf(jobId, again.jobFile) },
  };
}

/** The job under its next id, with a job directory of its own: otherwise it would restore the checkpoints of this one. */
function repeatedSpec(spec: JobSpec): JobSpec {
  const jobId = nextJobId(spec.jobId);
  const isNamed = spec.jobDir.endsWith(`/${spec.jobId}`);
  const parent = isNamed ? spec.jobDir.slice(0, -spec.jobId.length - 1) : spec.jobDir;
  return { ...spec, jobId, jobDir: `${parent}/${jobId}` };
}

const JOB_ID_CHARACTERS_MAX = 115;

/** `digits_2` after `digits`, `digits_3` after `digits_2`; the ids of trials are reserved. */
function nextJobId(jobId: string): string {
  const own = jobId.replace(TRIAL_JOB_ID_PATTERN, (suffix) => suffix.replace('_trial_', '_from_trial')).slice(0, 128);
  const [, stem = own, count = '1'] = /^(.*)_(\d{1,3})$/.exec(own) ?? [];
  const suffix = `_${Number(count) + 1}`;
  return `${stem.slice(0, JOB_ID_CHARACTERS_MAX - suffix.length)}${suffix}`;
}

/** A here-document: no text in the job file ends it early, or is expanded by the shell. */
function commandOf(jobId: string, jobFile: string): string {
  const lines = new Set(jobFile.split('\n'));
  let end = 'JOB_FILE';
  while (lines.has(end)) {
    end += '_';
  }
  const file = `${jobId}.yaml`;
  return `cat > ${file} <<'${end}'\n${jobFile}${end}\ndropforge jobs submit training ${jobId} --config ${file}\n`;
}
