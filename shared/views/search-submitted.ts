import type { JobState } from '#shared/domain/job-state.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { idOf, readSubmitted, type Submitted, updateOf } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { TRIAL_JOB_ID_PATTERN } from '#shared/tuning/trial.ts';
import { listSubmitted, type PagePosition, positionOf, type SubmittedPage } from '#shared/views/list-submitted.ts';

/** Conditions that a listed job must all satisfy. */
export type SubmittedFilter = {
  /** Any of these; empty for any state. */
  readonly states: readonly JobState[];
  /** Part of the id, of a label or of a machine type, without regard to case; empty for any. */
  readonly text: string;
  /** `key` or `key:value`; all of them. */
  readonly labels: readonly string[];
};

/** One request reads at most this many jobs; a search of more continues with the next page. */
const READ_MAX = 1_000;
const READ_PAGE = 200;

/**
 * A page of the jobs that satisfy the filter, newest first. It may have fewer than `countMax` jobs, or none, and still
 * be followed by another one: a request reads at most READ_MAX jobs.
 */
export async function searchSubmitted(
  stores: { readonly jobs: JobStore; readonly tunings: TuningStore },
  page: { readonly countMax: number; readonly after?: PagePosition },
  filter: SubmittedFilter,
): Promise<SubmittedPage> {
  if (isEverything(filter)) {
    return listSubmitted(stores, page);
  }
  const matches = createMatcher(filter);
  const items: Submitted[] = [];
  let after = page.after;
  let readCount = 0;
  while (readCount < READ_MAX) {
    const read = await listSubmitted(stores, { countMax: READ_PAGE, ...(after === undefined ? {} : { after }) });
    readCount += read.items.length;
    for (const item of read.items) {
      if (matches(item)) {
        items.push(item);
      }
      if (items.length === page.countMax) {
        return { items, next: positionOf(item) };
      }
    }
    if (read.next === null) {
      return { items, next: null };
    }
    after = read.next;
  }
  return { items, next: after ?? null };
}

/** The jobs of these ids that a search with this filter finds; the jobs of trials are not listed, and cost no read. */
export async function readMatching(
  stores: { readonly jobs: JobStore; readonly tunings: TuningStore },
  ids: readonly string[],
  filter: SubmittedFilter,
): Promise<readonly Submitted[]> {
  const listed = ids.filter((id) => !TRIAL_JOB_ID_PATTERN.test(id));
  const found = await Promise.all(listed.map((id) => readSubmitted(stores, id)));
  return found.filter((item) => item !== undefined).filter(createMatcher(filter));
}

function isEverything({ states, text, labels }: SubmittedFilter): boolean {
  return states.length === 0 && text === '' && labels.length === 0;
}

function createMatcher({ states, text, labels }: SubmittedFilter): (item: Submitted) => boolean {
  const searched = text.toLowerCase();
  return (item) =>
    (states.length === 0 || states.some((state) => state === updateOf(item).state)) &&
    labels.every((label) => hasLabel(item, label)) &&
    (searched === '' || textsOf(item).some((one) => one.toLowerCase().includes(searched)));
}

function hasLabel({ spec }: Submitted, label: string): boolean {
  const [key = '', ...value] = label.split(':');
  return Object.hasOwn(spec.labels, key) && (value.length === 0 || spec.labels[key] === value.join(':'));
}

function textsOf(item: Submitted): readonly string[] {
  const { labels, replicaGroups } = item.spec;
  const machines = replicaGroups.flatMap(({ machineType, accelerator }) => [machineType, accelerator?.type ?? '']);
  return [idOf(item), ...Object.values(labels), ...Object.keys(labels), ...machines];
}
