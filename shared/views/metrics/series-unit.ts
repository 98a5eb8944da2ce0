const UNITS: readonly (readonly [RegExp, string])[] = [
  [/^cpu\/fraction$|^gpu\/\d+\/utilization$/, 'fraction'],
  [/^(disk\/(read|written)|network\/(received|sent))$/, 'bytes/second'],
  [/^(memory|disk)\/|^gpu\/\d+\/memory-/, 'bytes'],
  [/^gpu\/\d+\/power$/, 'watts'],
  [/^gpu\/\d+\/temperature$/, 'celsius'],
  [/^gpu\/\d+\/clock$/, 'hertz'],
];

/** The unit of a system series (vm_agent/metrics/system_metrics.py); null if it is unknown. */
export function unitOf(name: string): string | null {
  return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}
