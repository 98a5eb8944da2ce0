import type { Catalog } from '#shared/catalog/catalog.ts';

/** What is different now, of one thing in the catalog. */
export type Change = { readonly name: string; readonly change: string };

export type MergedCatalog = {
  readonly catalog: Catalog;
  readonly changes: readonly Change[];
  /** What the APIs said that was not taken over, or did not say: a person has to look. */
  readonly doubts: readonly string[];
};

/** `+us-east1-d -us-east1-a`, or empty where both have the same. */
export function describeZones(before: readonly string[], now: readonly string[]): string {
  const gained = now.filter((zone) => !before.includes(zone)).map((zone) => `+${zone}`);
  const lost = before.filter((zone) => !now.includes(zone)).map((zone) => `-${zone}`);
  return [...gained, ...lost].join(' ');
}
