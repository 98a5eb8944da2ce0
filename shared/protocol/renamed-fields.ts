/** Names of fields before version 0.2, and the names that replaced them. */
const RENAMED_FIELDS: Readonly<Record<string, string>> = {
  placementTry: 'placementRound',
  refusedZones: 'exhaustedZones',
  refusals: 'createFailures',
  givenUpInRow: 'deliveryFailuresInRow',
  missedAt: 'suspectSince',
};

/** The value with the current names of its own fields; nested values and values that are not objects are unchanged. */
export function withCurrentNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [RENAMED_FIELDS[name] ?? name, field]));
}
