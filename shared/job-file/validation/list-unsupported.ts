import type { JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Located, locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import type { ProgramsCheck } from '#shared/job-file/validation/check-programs.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** What the checks have made of a draft so far; null where something is wrong with it. */
type Planned = {
  readonly machines: readonly PlannedGroup[] | null;
  readonly programs: ProgramsCheck | null;
};

/** Something that a job may ask for: where it does so, why it cannot be run, and what to do instead. */
type Unsupported = {
  readonly find: (draft: JobDraft, planned: Planned) => SourceLocation | undefined;
  readonly message: string;
  readonly remedy: string;
};

/** What this version cannot run: whoever teaches it to deletes the row. */
const UNSUPPORTED: readonly Unsupported[] = [
  {
    find: ({ pools }) => pools.find(({ program }) => program.imageUri !== undefined)?.program.imageUri,
    message: 'The program is a container, and this version runs Python packages only.',
    remedy: 'Put the program into a package, and name the module that starts it.',
  },
  {
    find: findOtherProgram,
    message: 'The machines of this pool have a program of their own, and this version runs one for all.',
    remedy: 'Name the same package and module in every pool; TF_CONFIG tells the program what its part is.',
  },
  {
    find: ({ study }) => study && { path: study.path, ...(study.line !== undefined && { line: study.line }) },
    message: 'Hyperparameters are to be tuned, and this version runs single trainings.',
    remedy: 'Submit a job for each set of values, with the values among its args.',
  },
  {
    find: ({ scaleTier }, { machines }) =>
      placeOfGroup(
        machines?.find(({ isTpu }) => isTpu),
        scaleTier,
      ),
    message: 'The job asks for a TPU, and this version starts VMs of Compute Engine only.',
    remedy: 'Choose a machine type with GPUs, such as g2-standard-8 or a2-highgpu-1g.',
  },
  {
    find: ({ serviceAccount }) => unlessEmpty(serviceAccount),
    message: "The job names a service account, and in this version all VMs run as the deployment's own.",
    remedy: "Remove it, and let the deployment's account do what the job needs.",
  },
  {
    find: ({ network }) => unlessEmpty(network),
    message: "The job names a network, and in this version all VMs are in the deployment's own.",
    remedy: "Remove it, and let the deployment's network reach what the job needs.",
  },
  {
    find: ({ kmsKeyName }) => unlessEmpty(kmsKeyName),
    message: "The job names an encryption key, and in this version all disks have Google's own.",
    remedy: "Remove it, if Google's keys will do.",
  },
  {
    // Each VM waits for capacity by itself: those that came first would be billed while they wait for the others.
    find: ({ strategy, pools }, { machines }) =>
      strategy?.value === 'FLEX_START' && countMachines(machines ?? pools) > 1 ? strategy : undefined,
    message: 'The job asks for several machines with FLEX_START, and this version waits for one machine at most.',
    remedy: 'Ask for one machine with more GPUs, or choose STANDARD or SPOT.',
  },
];

/**
 * What is right and yet cannot be run by this version of Dropforge: each with its place and with what to do instead.
 */
export function listUnsupported(draft: JobDraft, planned: Planned): readonly Problem[] {
  return UNSUPPORTED.flatMap(({ find, message, remedy }) => {
    const place = find(draft, planned);
    return place === undefined ? [] : { code: 'UNSUPPORTED_FIELD', message, remedy, ...locationOf(place) };
  });
}

function findOtherProgram({ pools }: JobDraft, { programs }: Planned): SourceLocation | undefined {
  const other = pools.find(({ role }) => programs?.ofRole[role]?.kind === 'PYTHON');
  return other && (other.program.pythonModule ?? other.program.packageUris?.[0] ?? other.program.args?.[0] ?? other);
}

/** Where something is wrong with the machines, each pool counts as one. */
function countMachines(groups: readonly (PlannedGroup | PoolDraft)[]): number {
  return groups.reduce((sum, { count }) => sum + (typeof count === 'number' ? count : 1), 0);
}

function placeOfGroup(
  group: PlannedGroup | undefined,
  scaleTier: Located<string> | undefined,
): SourceLocation | undefined {
  return group && (group.pool.machineType ?? scaleTier ?? group.pool);
}

/** An empty text says nothing, as in proto3. */
function unlessEmpty(text: Located<string> | undefined): SourceLocation | undefined {
  return text?.value === '' ? undefined : text;
}
