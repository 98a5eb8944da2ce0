import { isReservedLabel, JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';

/**
 * The labels that identify the job of a VM in Compute Engine's lists. Label values have at most 63 lowercase letters,
 * digits, `_` and `-` (Resource Manager docs, "Labels overview"); job ids have up to 128 characters, including
 * uppercase letters, so they are encoded reversibly.
 */
export const MANAGED_BY = { key: 'managed-by', value: 'dropforge' } as const;

const JOB_KEY = 'dropforge-job';
const ATTEMPT_KEY = 'dropforge-attempt';
const ROLE_KEY = 'dropforge-role';

const VALUE_CHARACTERS_MAX = 63;

/** A job id of 128 uppercase letters has twice as many characters when encoded. */
const JOB_PARTS_MAX = 5;

export type VmLabels = { readonly jobId: string; readonly attempt: number; readonly role: string };

/** The labels of a VM: those that identify its job, and the user's, except for reserved keys. */
export function toLabels(
  { jobId, attempt, role }: VmLabels,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const parts = splitJobId(jobId).map((part, index) => [keyOfPart(index), part] as const);
  return {
    ...Object.fromEntries(Object.entries(own).filter(([key]) => !isReservedLabel(key))),
    ...Object.fromEntries(parts),
    [MANAGED_BY.key]: MANAGED_BY.value,
    [ATTEMPT_KEY]: String(attempt),
    [ROLE_KEY]: role,
  };
}

/**
 * Reads the labels of a VM; returns undefined if they are not Dropforge's. Accepts only what `toLabels` can have
 * written, because a VM attributed to the wrong job would be deleted as orphaned: a part of a job id that is not full
 * is the last.
 */
export function readLabels(labels: Readonly<Record<string, string>>): Omit<VmLabels, 'role'> | undefined {
  const attempt = labels[ATTEMPT_KEY] ?? '';
  if (labels[MANAGED_BY.key] !== MANAGED_BY.value || !/^[1-9]\d*$/.test(attempt)) {
    return undefined;
  }
  const parts = Array.from({ length: JOB_PARTS_MAX }, (_, index) => labels[keyOfPart(index)] ?? '');
  const last = parts.findIndex((part) => part.length < VALUE_CHARACTERS_MAX);
  const escaped = (last === -1 ? parts : parts.slice(0, last + 1)).join('');
  const jobId = escaped.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const isOurs = JOB_ID_PATTERN.test(jobId) && splitJobId(jobId).join('') === escaped;
  return isOurs ? { jobId, attempt: Number(attempt) } : undefined;
}

/** A filter for lists (Compute API, "filter"): selects all of Dropforge's VMs, or those that may belong to one job. */
export function filterOf(query?: { readonly jobId: string }): string {
  const managed = `labels.${MANAGED_BY.key} = ${MANAGED_BY.value}`;
  const [first] = query === undefined ? [] : splitJobId(query.jobId);
  return first === undefined ? managed : `(${managed}) AND (labels.${JOB_KEY} = "${first}")`;
}

/** Encodes `X` as `-x`: job ids contain no dashes. */
function splitJobId(jobId: string): readonly string[] {
  const escaped = jobId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return Array.from({ length: Math.ceil(escaped.length / VALUE_CHARACTERS_MAX) }, (_, index) =>
    escaped.slice(index * VALUE_CHARACTERS_MAX, (index + 1) * VALUE_CHARACTERS_MAX),
  );
}

function keyOfPart(index: number): string {
  return index === 0 ? JOB_KEY : `${JOB_KEY}-${index}`;
}
