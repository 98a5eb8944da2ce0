import { NO_JOB } from '#infra/embedded/compute-engine/vms/table.ts';
import { ROLES } from '#shared/domain/job-spec.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { readLabels, toLabels } from '#shared/protocol/vm-labels.ts';

type Labels = Readonly<Record<string, string>>;

/** Resource Manager docs, "Requirements for labels". */
const LABEL_KEY = /^\p{Ll}[\p{Ll}\d_-]{0,62}$/u;
const LABEL_VALUE = /^[\p{Ll}\d_-]{0,63}$/u;
const LABELS_COUNT_MAX = 64;

/** What is wrong with labels, or undefined. */
export function findLabelsProblem(labels: Labels): string | undefined {
  const wrong = Object.entries(labels).find(([key, value]) => !LABEL_KEY.test(key) || !LABEL_VALUE.test(value));
  return wrong !== undefined || Object.keys(labels).length > LABELS_COUNT_MAX
    ? `'${wrong?.join('=') ?? `more than ${LABELS_COUNT_MAX}`}'. Labels have 63 small letters.`
    : undefined;
}

export type Labelled = Pick<VmRequest, 'jobId' | 'attempt' | 'role' | 'index' | 'labels'>;

/** Whose a VM is by its labels: without Dropforge's, it belongs to no job. */
export function labelledAs(name: string, labels: Labels): Labelled {
  const own = readLabels(labels);
  return {
    jobId: own?.jobId ?? NO_JOB,
    attempt: own?.attempt ?? 0,
    role: ROLES.find((known) => known === labels['dropforge-role']) ?? 'master',
    // The index is the end of every name that Dropforge gives.
    index: Number(/-(\d{1,4})$/.exec(name)?.[1] ?? 0),
    labels: own === undefined ? labels : withoutOwn(labels, own),
  };
}

/** The user's own labels: those that Dropforge would not give by itself. */
function withoutOwn(labels: Labels, own: { readonly jobId: string; readonly attempt: number }): Labels {
  const given = toLabels({ ...own, role: '' }, {});
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !Object.hasOwn(given, key)));
}
