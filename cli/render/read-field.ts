/** Returns the value at a path such as `placement.zone` or `attempts.0.cause`; null if there is none. */
export function readField(item: unknown, path: string): unknown {
  let value = item;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;
  }
  return value;
}
