import { createHash } from 'node:crypto';
import { submittedEntry } from '#shared/domain/history.ts';
import type { JobIn, JobSource, PackageRef, TimestampMs, TrialRef, Warning } from '#shared/domain/job.ts';
import { ACCEPTED_BYTES_MAX, jsonBytesOf, WARNINGS_BYTES_MAX } from '#shared/domain/job-size.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { JobToRead } from '#shared/job-file/read-job.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** The parts of an accepted job besides its specification. */
export type NewJob = {
  readonly source: JobSource;
  readonly zones: readonly string[];
  readonly packages: readonly PackageRef[];
  readonly warnings: readonly Problem[];
  readonly now: TimestampMs;
  readonly timeouts: Timeouts;
  /** Set for the job of a tuning's trial. */
  readonly trial?: TrialRef | null;
};

/** The job at the start of its first attempt. */
export function newJob(
  spec: JobSpec,
  { source, zones, packages, warnings, now, timeouts, trial = null }: NewJob,
): JobIn<'QUEUED'> {
  return {
    status: 'QUEUED',
    isBackingOff: false,
    isAdmitted: false,
    wakeAt: now + timeouts.provisionAnswerMs,
    jobId: spec.jobId,
    trial,
    spec,
    packages,
    source,
    warnings,
    createdAt: now,
    attempt: 1,
    placementRound: 1,
    exhaustedZones: [],
    zones,
    firstRanAt: null,
    ranMs: 0,
    counts: {
      interruptions: 0,
      interruptionsInRow: 0,
      bootFailuresInRow: 0,
      restarts: 0,
      createFailures: 0,
      deliveryFailuresInRow: 0,
      unusedVms: 0,
    },
    ledger: [],
    waitingFor: null,
    quotaWaitSince: null,
    deniedSince: null,
    waitsFor: null,
    endedPlacements: 0,
    history: [submittedEntry('QUEUED', { at: now, by: source.submittedBy })],
  };
}

/** Hexadecimal SHA-256 by which a repeated submission of the same job, packages and images is recognized. */
export function digestOf(
  { jobFile, command, flags }: JobToRead,
  packages: readonly PackageRef[] = [],
  spec?: JobSpec,
): string {
  const hash = createHash('sha256').update(jobFile ?? '');
  if (flags.length > 0) {
    hash.update(JSON.stringify([command, flags]));
  }
  for (const { uri, crc32c, sizeBytes } of packages) {
    hash.update(`\n${uri} ${crc32c} ${sizeBytes}`);
  }
  for (const { role, program } of spec?.replicaGroups ?? []) {
    const own = program ?? spec?.program;
    if (own?.kind === 'CONTAINER' && own.image !== null) {
      hash.update(`\n${role} ${own.image.uri}`);
    }
  }
  return hash.digest('hex');
}

/** The parts of a job or tuning that are shortened if it is too large. */
export type Limited = { readonly warnings: readonly Warning[]; readonly source: JobSource };

/**
 * The job or tuning with its warnings truncated to WARNINGS_BYTES_MAX, or the problem if it exceeds ACCEPTED_BYTES_MAX.
 * Its text is stored if it fits as well: nothing but the definition needs it.
 */
export function enforceSizeLimit<Record extends Limited>(
  record: Record,
): { readonly limited: Record } | { readonly problem: Problem } {
  const whole = { ...record, warnings: truncateWarnings(record.warnings) };
  if (jsonBytesOf(whole) <= ACCEPTED_BYTES_MAX) {
    return { limited: whole };
  }
  const limited = { ...whole, source: { ...whole.source, text: null } };
  const sizeBytes = jsonBytesOf(limited);
  if (sizeBytes <= ACCEPTED_BYTES_MAX) {
    return { limited };
  }
  const message = `The job has ${sizeBytes} bytes including all arguments, environment variables, packages and parameters to tune; the limit is ${ACCEPTED_BYTES_MAX}.`;
  const remedy = 'Put long arguments and values into a file in the bucket or in the package, and pass its name.';
  return { problem: { code: 'JOB_TOO_LARGE', message, remedy } };
}

function truncateWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (jsonBytesOf(warnings) <= WARNINGS_BYTES_MAX) {
    return warnings;
  }
  const kept: Warning[] = [];
  const summaryOf = (count: number) => ({
    code: 'TOO_MANY_FINDINGS',
    message: `${warnings.length - count} more warnings were omitted because of their size.`,
    remedy: 'Fix the warnings above and check the file again.',
  });
  for (const warning of warnings) {
    if (jsonBytesOf([...kept, warning, summaryOf(0)]) > WARNINGS_BYTES_MAX) {
      break;
    }
    kept.push(warning);
  }
  return [...kept, summaryOf(kept.length)];
}
