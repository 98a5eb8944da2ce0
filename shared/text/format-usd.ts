/** `$1.23`; `$0.0123` for an amount below a dollar. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
