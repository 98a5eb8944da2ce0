/**
 * Whether every JavaScript object has a property of this name, such as `constructor`: in the records of trials, which
 * are keyed by the names of parameters and metrics, a missing value would not be recognized, and `__proto__` is lost.
 */
export function isReservedName(name: string): boolean {
  return name in Object.prototype;
}
