/**
 * Fields whose names in stored records and in messages differ from those in the code: the records and messages keep the
 * names of version 0.1, so that functions of both versions can run during a rollout, and an older version can read
 * everything after a rollback.
 */
const STORED_NAMES: Readonly<Record<string, string>> = {
  placementRound: 'placementTry',
  exhaustedZones: 'refusedZones',
  createFailures: 'refusals',
  deliveryFailuresInRow: 'givenUpInRow',
  suspectSince: 'missedAt',
};

const CURRENT_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(STORED_NAMES).map(([current, stored]) => [stored, current]),
);

/** The value with the code's names of its own fields; nested values and values that are not objects are unchanged. */
export function withCurrentNames(value: unknown): unknown {
  return isObject(value) ? renamed(value, CURRENT_NAMES) : value;
}

/** The object with the stored names of its own fields; nested values are unchanged. */
export function withStoredNames(value: object): Record<string, unknown> {
  return renamed(value, STORED_NAMES);
}

function renamed(value: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [names[name] ?? name, field]));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
