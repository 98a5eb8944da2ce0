import { NO_JOB } from '#infra/embedded/compute-engine/vms/table.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { readLabels, toLabels } from '#shared/protocol/vm-labels.ts';

type Labels = Readonly<Record<string, string>>;

/** Resource Manager docs, "Requirements for labels". */
const LABEL_KEY = /^\p{Ll}[\p{Ll}\d_-]{0,62}$/u;
const LABEL_VALUE = /^[\p{Ll}\d_-]{0,63}$/u;
const LABELS_COUNT_MAX = 64;

/** Why the labels are invalid; undefined if they are valid. */
export function findLabelsProblem(labels: Labels): string | undefined {
  const wrong = Object.entries(labels).find(([key, value]) => !LABEL_KEY.test(key) || !LABEL_VALUE.test(value));
  const found = wrong?.join('=') ?? `more than ${LABELS_COUNT_MAX}`;
  return wrong !== undefined || Object.keys(labels).length > LABELS_COUNT_MAX
    ? `'${found}'. Label keys and values have at most 63 lowercase letters, digits, "_" and "-".`
    : undefined;
}

export type VmOwnership = Pick<VmRequest, 'jobId' | 'attempt' | 'role' | 'index' | 'labels'>;

/** The job and replica that a VM belongs to by its labels; without Dropforge's labels, NO_JOB. */
export function ownershipOf(name: string, labels: Labels): VmOwnership {
  const own = readLabels(labels);
  return {
    jobId: own?.jobId ?? NO_JOB,
    attempt: own?.attempt ?? 0,
    role: ROLES.find((known) => known === labels['dropforge-role']) ?? 'master',
    // VM names given by Dropforge end with the index.
    index: Number(/-(\d{1,4})$/.exec(name)?.[1] ?? 0),
    labels: own === undefined ? labels : withoutReserved(labels, own),
  };
}

/** The user's labels: those that Dropforge does not set itself. */
function withoutReserved(labels: Labels, own: { readonly jobId: string; readonly attempt: number }): Labels {
  const given = toLabels({ ...own, role: '' }, {});
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !Object.hasOwn(given, key)));
}
