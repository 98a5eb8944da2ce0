const LOCATION_KEYS = ['path', 'line'];

/** A draft's values without their locations. */
export function withoutLocations(fields: unknown): unknown {
  const text = JSON.stringify(fields, (key, value: unknown) => (LOCATION_KEYS.includes(key) ? undefined : value));
  return text === undefined ? undefined : JSON.parse(text);
}
