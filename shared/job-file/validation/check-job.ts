import type { JobSpec, ProgramOptions, ProvisioningModel, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Study } from '#shared/domain/study.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { withPrebuiltRuntimes } from '#shared/job-file/draft/prebuilt-images.ts';
import { createFindings, type Findings, type Found, reportOf } from '#shared/job-file/parser/findings.ts';
import { checkStudy } from '#shared/job-file/tuning/check-study.ts';
import { checkTuningJob } from '#shared/job-file/tuning/check-tuning-job.ts';
import { checkDisk } from '#shared/job-file/validation/check-disk.ts';
import { checkHealth } from '#shared/job-file/validation/check-health.ts';
import { checkIdentity } from '#shared/job-file/validation/check-identity.ts';
import { checkJobDir } from '#shared/job-file/validation/check-job-dir.ts';
import { checkLimits } from '#shared/job-file/validation/check-limits.ts';
import {
  checkMachines,
  type PlannedGroup,
  type RequestedMachines,
} from '#shared/job-file/validation/check-machines.ts';
import { checkJobId, checkLabels } from '#shared/job-file/validation/check-names.ts';
import { checkNotify } from '#shared/job-file/validation/check-notify.ts';
import { checkPrograms, type ProgramsCheck } from '#shared/job-file/validation/check-programs.ts';
import { checkProvisioning, ownModelOf } from '#shared/job-file/validation/check-provisioning.ts';
import { checkRegion } from '#shared/job-file/validation/check-region.ts';
import { checkReservation } from '#shared/job-file/validation/check-reservation.ts';
import { checkSecrets } from '#shared/job-file/validation/check-secrets.ts';
import { checkPythonVersion, checkRuntimeVersion } from '#shared/job-file/validation/check-versions.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { warnOfBuckets } from '#shared/job-file/validation/warn-of-buckets.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** A submission must treat what is not supported as problems. */
export type JobCheck = Found & {
  /** Null if there are problems. */
  readonly spec: JobSpec | null;
  /** Names of the zones that have all machines of the job. */
  readonly zones: readonly string[];
  /** The plan of what would run, even if the rest of the job is incomplete. */
  readonly plan: JobPlan | null;
  /** Null if the job is a single training, or its study has errors. */
  readonly study: Study | null;
  /** The machines as requested, including those that do not exist. */
  readonly requested: readonly RequestedMachines[];
};

export type JobPlan = {
  readonly groups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  readonly provisioningModel: ProvisioningModel;
};

/**
 * Validates a job and completes it with the context's defaults. Never throws: all problems, including those of the
 * draft, are returned in file order. Missing fields have the code MISSING_FIELD, unfilled values of a template
 * PLACEHOLDER.
 */
export function checkJob(given: JobDraft, context: JobContext): JobCheck {
  const draft = withPrebuiltRuntimes(given);
  const findings = createFindings(draft);
  const jobId = checkJobId(draft, context.defaults.jobId, findings);
  const { groups: machines, requested } = checkMachines(draft, findings);
  const regionCheck = checkRegion(draft, { machines, regionDefault: context.defaults.region }, findings);
  const provisioningModel = checkProvisioning(draft, machines, findings);
  const programs = checkPrograms(draft, context, findings);
  const parts = {
    jobId,
    labels: checkLabels(draft, findings),
    program: programs?.program ?? null,
    jobDir: checkJobDir(draft, { context, jobId }, findings),
    runtimeVersion: checkRuntimeVersion(draft, context.defaults.runtimeVersion, findings),
    limits: checkLimits(draft, findings),
    programOptions: programOptionsOf(draft),
    health: checkHealth(draft, findings),
    secrets: checkSecrets(draft, findings),
  };
  const choices = {
    pythonVersion: checkPythonVersion(draft, findings),
    study: checkStudy(draft, findings),
    notify: checkNotify(draft, findings),
    ...checkIdentity(draft, findings),
  };
  if (programs !== null && parts.jobDir !== null) {
    const others = Object.values(programs.ofRole).filter((program) => program !== null);
    warnOfBuckets([programs.program, ...others], parts.jobDir, findings);
  }
  const groups = checkPools(draft, { machines, programs, provisioningModel }, findings);
  const plan = isNonEmpty(groups) && provisioningModel !== null ? { groups, provisioningModel } : null;
  checkTuningJob(draft, { jobId, study: choices.study, plan }, findings);
  const isValid = findings.problems.length === 0 && plan !== null && regionCheck !== null && isComplete(parts);
  return {
    spec: isValid
      ? {
          ...parts,
          ...choices,
          service: draft.dialect === 'ai-platform' ? 'AI_PLATFORM' : 'VERTEX_AI',
          passesJobDir: draft.dialect === 'ai-platform',
          replicaGroups: plan.groups,
          region: regionCheck.region,
          provisioningModel: plan.provisioningModel,
        }
      : null,
    zones: regionCheck?.zones ?? [],
    ...{ plan, study: choices.study, requested },
    ...reportOf({ ...findings, problems: withoutDuplicates(findings.problems) }),
  };
}

type Planned = {
  readonly machines: readonly PlannedGroup[] | null;
  readonly programs: ProgramsCheck | null;
  readonly provisioningModel: ProvisioningModel | null;
};

/** The groups that would run; empty if machines are invalid, whose other settings are still checked. */
function checkPools(
  { pools }: JobDraft,
  { machines, programs, provisioningModel }: Planned,
  findings: Findings,
): readonly ReplicaGroup[] {
  if (machines === null) {
    for (const pool of pools) {
      checkDisk(pool, { machineType: pool.machineType?.value ?? '', accelerator: null }, findings);
      checkReservation(pool, findings);
    }
    return [];
  }
  return machines.map(({ role, count, machine, pool }) => ({
    role,
    count,
    ...machine,
    ...checkDisk(pool, machine, findings),
    reservation: checkReservation(pool, findings),
    program: programs?.ofRole[role] ?? null,
    provisioningModel: ownModelOf(pool, provisioningModel),
  }));
}

/** The options that the file sets; their limits are checked as they are read. */
function programOptionsOf({ programOptions }: JobDraft): ProgramOptions {
  return Object.fromEntries(Object.entries(programOptions).map(([name, option]) => [name, option?.value]));
}

/** Drops MISSING_FIELD for fields that are present but unreadable. */
function withoutDuplicates(problems: readonly Problem[]): Problem[] {
  const reported = new Set(problems.filter(({ code }) => code !== 'MISSING_FIELD').map(({ path }) => path));
  return problems.filter(({ code, path }) => code !== 'MISSING_FIELD' || !reported.has(path));
}

function isNonEmpty<T>(list: readonly T[]): list is readonly [T, ...T[]] {
  return list.length > 0;
}

type Complete<Parts> = { readonly [Name in keyof Parts]: NonNullable<Parts[Name]> };

function isComplete<Parts extends object>(parts: Parts): parts is Parts & Complete<Parts> {
  return Object.values(parts).every((part) => part !== null);
}
