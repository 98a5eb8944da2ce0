import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Located, locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Results of an earlier check; null if it found problems. */
type Planned = { readonly machines: readonly PlannedGroup[] | null };

/** A valid feature of job files: how to find its use, why it cannot run, and what to do instead. */
type Unsupported = {
  readonly find: (draft: JobDraft, planned: Planned) => SourceLocation | undefined;
  readonly message: string;
  readonly remedy: string;
};

/** Features that this version cannot run; delete the row when support is added. */
const UNSUPPORTED: readonly Unsupported[] = [
  {
    find: ({ scaleTier }, { machines }) =>
      locationOfGroup(
        machines?.find(({ isTpu }) => isTpu),
        scaleTier,
      ),
    message: 'The job requests a TPU; this version does not support TPUs.',
    remedy: 'Choose a machine type with GPUs, such as g2-standard-8 or a2-highgpu-1g.',
  },
];

/** Findings for valid features that this version cannot run. */
export function listUnsupported(draft: JobDraft, planned: Planned): readonly Problem[] {
  return UNSUPPORTED.flatMap(({ find, message, remedy }) => {
    const location = find(draft, planned);
    return location === undefined ? [] : { code: 'UNSUPPORTED_FIELD', message, remedy, ...locationOf(location) };
  });
}

function locationOfGroup(
  group: PlannedGroup | undefined,
  scaleTier: Located<string> | undefined,
): SourceLocation | undefined {
  return group && (group.pool.machineType ?? scaleTier ?? group.pool);
}
