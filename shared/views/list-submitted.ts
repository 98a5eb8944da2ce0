import type { TimestampMs } from '#shared/domain/job.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { idOf, type Submitted } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';

/** The last entry of a page, after which the next page starts. */
export type PagePosition = { readonly createdAt: TimestampMs; readonly id: string };

export type SubmittedPage = {
  readonly items: readonly Submitted[];
  /** Null if this is the last page. */
  readonly next: PagePosition | null;
};

/**
 * Jobs and tunings together, newest first, then by id. One that cannot be read does not hide the others; reading it by
 * its id reports the error.
 */
export async function listSubmitted(
  { jobs, tunings }: { readonly jobs: JobStore; readonly tunings: TuningStore },
  page: { readonly countMax: number; readonly after?: PagePosition },
): Promise<SubmittedPage> {
  const found = await Promise.all([readableOf(jobs.list(page)), readableOf(tunings.list(page))]);
  const ends = found.map(({ items, error }) => {
    const last = items.at(-1);
    const isComplete = error === null && items.length < page.countMax;
    return isComplete || last === undefined ? null : positionOf(last);
  });
  const merged = found.flatMap(({ items }): readonly Submitted[] => items).sort(compare);
  // After an unreadable record, a list may end before the other one does: what follows is on the next page.
  const isKnown = (item: Submitted) =>
    ends.every((end) => end === null || comparePositions(positionOf(item), end) <= 0);
  const items = merged.filter(isKnown).slice(0, page.countMax);
  const last = items.at(-1);
  const isLastPage = items.length === merged.length && ends.every((end) => end === null);
  return { items, next: isLastPage || last === undefined ? null : positionOf(last) };
}

export function positionOf(item: Submitted): PagePosition {
  return { createdAt: item.createdAt, id: idOf(item) };
}

function compare(one: Submitted, other: Submitted): number {
  return comparePositions(positionOf(one), positionOf(other));
}

function comparePositions(one: PagePosition, other: PagePosition): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}
