import type { Catalog } from '#shared/catalog/catalog.ts';

/** A change of one entry of the catalog. */
export type Change = { readonly name: string; readonly change: string };

export type MergedCatalog = {
  readonly catalog: Catalog;
  readonly changes: readonly Change[];
  /** Differences that were not merged and need manual review, in sentences. */
  readonly reviewNotes: readonly string[];
};

/** `+us-east1-d -us-east1-a`; empty if both are the same. */
export function describeZones(before: readonly string[], now: readonly string[]): string {
  const gained = now.filter((zone) => !before.includes(zone)).map((zone) => `+${zone}`);
  const lost = before.filter((zone) => !now.includes(zone)).map((zone) => `-${zone}`);
  return [...gained, ...lost].join(' ');
}
