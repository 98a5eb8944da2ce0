/**
 * The fields that were renamed since the version before, by their names there: its stored records and its messages are
 * still read. Both are written with the current names. A version begins with the names that it renames, or with none.
 */
const FORMER_NAMES: Readonly<Record<string, string>> = {
  placementTry: 'placementRound',
  refusedZones: 'exhaustedZones',
  refusals: 'createFailures',
  givenUpInRow: 'deliveryFailuresInRow',
  missedAt: 'suspectSince',
};

/** The value with the current names of its own fields; nested values and values that are not objects are unchanged. */
export function withCurrentNames(value: unknown): unknown {
  return renameFields(value, FORMER_NAMES);
}

/** The same for any list of names. */
export function renameFields(value: unknown, names: Readonly<Record<string, string>>): unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [names[name] ?? name, field]))
    : value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
