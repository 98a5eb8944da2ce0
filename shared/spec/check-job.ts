import type { ResolvedMachine } from '#shared/catalog/resolve-machine.ts';
import type { JobSpec, ProvisioningModel, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { checkLimits } from '#shared/spec/check-limits.ts';
import { checkMachine } from '#shared/spec/check-machine.ts';
import { checkJobId, checkLabels } from '#shared/spec/check-names.ts';
import { checkPlace, checkProvisioning } from '#shared/spec/check-place.ts';
import { checkProgram } from '#shared/spec/check-program.ts';
import { checkPythonVersion, checkRuntimeVersion } from '#shared/spec/check-versions.ts';
import { type Findings, inFileOrder, placeOf } from '#shared/spec/findings.ts';
import type { JobContext } from '#shared/spec/job-context.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';
import { parseStorageUri, printStorageUri } from '#shared/spec/storage-uri.ts';

export type JobCheck = {
  /** Null where there are problems. */
  readonly spec: JobSpec | null;
  /** The zones in which all machines of the job exist, by name. */
  readonly zones: readonly string[];
  /** What would run, even where the rest of the job is not yet complete. */
  readonly plan: JobPlan | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

export type JobPlan = {
  readonly groups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  /** The master as it was asked for, before retired GPUs gave way to others. */
  readonly asked: ResolvedMachine['asked'];
  readonly provisioningModel: ProvisioningModel;
};

/** AI Platform's default (DiskConfig), and the limits of Vertex AI, which took it over. */
const BOOT_DISK_GIB_DEFAULT = 100;
const BOOT_DISK_GIB_MIN = 100;
const BOOT_DISK_GIB_MAX = 64_000;

const BOOT_DISK_TYPES = ['pd-ssd', 'pd-standard'];

/**
 * Judges what a job asks for and completes it from the context. Never throws: all that is wrong, the draft's own
 * problems among it, is in the problems, in the file's order. A field that is missing altogether has the code
 * MISSING_FIELD.
 */
export function checkJob(draft: JobDraft, context: JobContext): JobCheck {
  const findings: Findings = { problems: [...draft.problems], warnings: [...draft.warnings] };
  const jobId = checkJobId(draft, context.defaults.jobId, findings);
  const labels = checkLabels(draft, findings);
  const resolved = checkMachine(draft, findings);
  const machine = resolved?.machine ?? null;
  const bootDiskGib = checkDisk(draft, findings);
  const place = checkPlace(draft, { machine, regionDefault: context.defaults.region }, findings);
  const provisioningModel = checkProvisioning(draft, machine, findings);
  const program = checkProgram(draft, context, findings);
  const jobDir = checkJobDir(draft, { context, jobId }, findings);
  const runtimeVersion = checkRuntimeVersion(draft, context.defaults.runtimeVersion, findings);
  const pythonVersion = checkPythonVersion(draft, findings);
  const limits = checkLimits(draft, findings);
  const plan = resolved && provisioningModel && { ...planOf(resolved, bootDiskGib), provisioningModel };
  const parts = { jobId, labels, program, jobDir, runtimeVersion, limits };
  const isSound = findings.problems.length === 0 && plan !== null && place !== null && isComplete(parts);
  return {
    spec: isSound
      ? {
          ...parts,
          replicaGroups: plan.groups,
          region: place.region,
          provisioningModel: plan.provisioningModel,
          pythonVersion,
        }
      : null,
    zones: place?.zones ?? [],
    plan,
    problems: inFileOrder(withoutEchoes(findings.problems)),
    warnings: inFileOrder(findings.warnings),
  };
}

/** A field that is there, but cannot be read, is not missing as well. */
function withoutEchoes(problems: readonly Problem[]): readonly Problem[] {
  const told = new Set(problems.filter(({ code }) => code !== 'MISSING_FIELD').map(({ path }) => path));
  return problems.filter(({ code, path }) => code !== 'MISSING_FIELD' || !told.has(path));
}

type Complete<Parts> = { readonly [Name in keyof Parts]: NonNullable<Parts[Name]> };

function isComplete<Parts extends object>(parts: Parts): parts is Parts & Complete<Parts> {
  return Object.values(parts).every((part) => part !== null);
}

function planOf({ machine, asked }: ResolvedMachine, bootDiskGib: number): Omit<JobPlan, 'provisioningModel'> {
  return { groups: [{ role: 'master', count: 1, ...machine, bootDiskGib }], asked };
}

function checkDisk({ bootDiskGib, bootDiskType }: JobDraft, findings: Findings): number {
  if (bootDiskType !== undefined && !BOOT_DISK_TYPES.includes(bootDiskType.value)) {
    const message = `There is no boot disk type "${bootDiskType.value}".`;
    const remedy = `Write ${BOOT_DISK_TYPES.join(' or ')}, or nothing.`;
    findings.problems.push({ code: 'UNKNOWN_DISK_TYPE', message, remedy, ...placeOf(bootDiskType) });
  }
  if (bootDiskType?.value === 'pd-standard') {
    const message = `${bootDiskType.path} has no effect: the machine image says what disk a VM boots from.`;
    findings.warnings.push({
      code: 'FIELD_WITHOUT_EFFECT',
      message,
      remedy: 'It can be removed.',
      ...placeOf(bootDiskType),
    });
  }
  if (bootDiskGib === undefined || bootDiskGib.value === 0) {
    return BOOT_DISK_GIB_DEFAULT;
  }
  if (bootDiskGib.value < BOOT_DISK_GIB_MIN || bootDiskGib.value > BOOT_DISK_GIB_MAX) {
    const message = `A boot disk has ${BOOT_DISK_GIB_MIN} to ${BOOT_DISK_GIB_MAX} GiB, not ${bootDiskGib.value}.`;
    findings.problems.push({
      code: 'INVALID_DISK_SIZE',
      message,
      remedy: 'Write a size between the two.',
      ...placeOf(bootDiskGib),
    });
  }
  return bootDiskGib.value;
}

function checkJobDir(
  { jobDir }: JobDraft,
  { context, jobId }: { readonly context: JobContext; readonly jobId: string | null },
  findings: Findings,
): string | null {
  if (jobDir === undefined) {
    return jobId === null ? null : `${context.defaults.jobDirBase.replace(/\/$/, '')}/${jobId}`;
  }
  const parsed = parseStorageUri(jobDir.value);
  if ('fault' in parsed) {
    const message = `The job directory "${jobDir.value}" ${parsed.fault}.`;
    const remedy = 'Write a path in Cloud Storage, such as gs://my-bucket/jobs/first.';
    findings.problems.push({ code: 'INVALID_JOB_DIR', message, remedy, ...placeOf(jobDir) });
    return null;
  }
  if (parsed.bucket === context.uploadBucket) {
    const message = `The job directory is in the upload bucket ${parsed.bucket}, where outputs would be taken for submissions.`;
    findings.problems.push({
      code: 'JOB_DIR_IN_UPLOAD_BUCKET',
      message,
      remedy: 'Choose another bucket, or leave jobDir out.',
      ...placeOf(jobDir),
    });
    return null;
  }
  return printStorageUri(parsed);
}
