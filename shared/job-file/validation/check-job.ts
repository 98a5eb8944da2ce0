import type { JobSpec, ProvisioningModel, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, inFileOrder } from '#shared/job-file/parser/findings.ts';
import { checkStudy } from '#shared/job-file/tuning/check-study.ts';
import { checkDisk } from '#shared/job-file/validation/check-disk.ts';
import { checkIdentity } from '#shared/job-file/validation/check-identity.ts';
import { checkJobDir } from '#shared/job-file/validation/check-job-dir.ts';
import { checkLimits } from '#shared/job-file/validation/check-limits.ts';
import { type AskedGroup, checkMachines, type PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import { checkJobId, checkLabels } from '#shared/job-file/validation/check-names.ts';
import { checkPrograms, type ProgramsCheck } from '#shared/job-file/validation/check-programs.ts';
import { checkProvisioning, checkReservation } from '#shared/job-file/validation/check-provisioning.ts';
import { checkPlace } from '#shared/job-file/validation/check-region.ts';
import { checkSecrets } from '#shared/job-file/validation/check-secrets.ts';
import { checkPythonVersion, checkRuntimeVersion } from '#shared/job-file/validation/check-versions.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { listUnsupported } from '#shared/job-file/validation/list-unsupported.ts';
import type { Problem } from '#shared/protocol/report.ts';

export type JobCheck = {
  /** Null where there are problems. */
  readonly spec: JobSpec | null;
  /** The zones in which all machines of the job exist, by name. */
  readonly zones: readonly string[];
  /** What would run, even where the rest of the job is not yet complete. */
  readonly plan: JobPlan | null;
  /** The machines as they were asked for, even where there are none such. */
  readonly asked: readonly AskedGroup[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What is right and yet cannot be run: whoever submits the job must take it for a problem. */
  readonly unsupported: readonly Problem[];
};

export type JobPlan = {
  readonly groups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  readonly provisioningModel: ProvisioningModel;
};

/**
 * Judges what a job asks for and completes it from the context. Never throws: all that is wrong, the draft's own
 * problems among it, is in the problems, in the file's order. What is missing altogether has the code MISSING_FIELD,
 * and what a template left open PLACEHOLDER.
 */
export function checkJob(draft: JobDraft, context: JobContext): JobCheck {
  const findings: Findings = {
    problems: [...draft.problems],
    warnings: [...draft.warnings],
    unsupported: [...draft.unsupported],
  };
  const jobId = checkJobId(draft, context.defaults.jobId, findings);
  const { groups: machines, asked } = checkMachines(draft, findings);
  const place = checkPlace(draft, { machines, regionDefault: context.defaults.region }, findings);
  const provisioningModel = checkProvisioning(draft, machines, findings);
  const programs = checkPrograms(draft, context, findings);
  const parts = {
    jobId,
    labels: checkLabels(draft, findings),
    program: programs?.program ?? null,
    jobDir: checkJobDir(draft, { context, jobId }, findings),
    runtimeVersion: checkRuntimeVersion(draft, context.defaults.runtimeVersion, findings),
    limits: checkLimits(draft, findings),
    secrets: checkSecrets(draft, findings),
  };
  const choices = {
    pythonVersion: checkPythonVersion(draft, findings),
    study: checkStudy(draft, findings),
    ...checkIdentity(draft, findings),
  };
  const groups = checkPools(draft, { machines, programs }, findings);
  const plan = isFilled(groups) && provisioningModel !== null ? { groups, provisioningModel } : null;
  findings.unsupported.push(...listUnsupported(draft, { machines, programs }));
  const isSound = findings.problems.length === 0 && plan !== null && place !== null && isComplete(parts);
  return {
    spec: isSound
      ? {
          ...parts,
          ...choices,
          passesJobDir: draft.dialect === 'ai-platform',
          replicaGroups: plan.groups,
          region: place.region,
          provisioningModel: plan.provisioningModel,
        }
      : null,
    zones: place?.zones ?? [],
    plan,
    asked,
    problems: inFileOrder(withoutEchoes(findings.problems)),
    warnings: inFileOrder(findings.warnings),
    unsupported: inFileOrder(findings.unsupported),
  };
}

type Planned = { readonly machines: readonly PlannedGroup[] | null; readonly programs: ProgramsCheck | null };

/** The groups that would run; none where machines are wrong, and then the rest of what is said about them is judged too. */
function checkPools({ pools }: JobDraft, { machines, programs }: Planned, findings: Findings): readonly ReplicaGroup[] {
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
  }));
}

/** A field that is there, but cannot be read, is not missing as well. */
function withoutEchoes(problems: readonly Problem[]): readonly Problem[] {
  const told = new Set(problems.filter(({ code }) => code !== 'MISSING_FIELD').map(({ path }) => path));
  return problems.filter(({ code, path }) => code !== 'MISSING_FIELD' || !told.has(path));
}

function isFilled<T>(list: readonly T[]): list is readonly [T, ...T[]] {
  return list.length > 0;
}

type Complete<Parts> = { readonly [Name in keyof Parts]: NonNullable<Parts[Name]> };

function isComplete<Parts extends object>(parts: Parts): parts is Parts & Complete<Parts> {
  return Object.values(parts).every((part) => part !== null);
}
