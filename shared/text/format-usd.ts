import { groupThousands } from '#shared/text/format-number.ts';

/** `$0.0042`, `$0.42`, `$1,204.50`; `–` for an unknown price. */
export function formatUsd(usd: number | null): string {
  if (usd === null) {
    return '–';
  }
  if (usd > 0 && usd < 0.0001) {
    return '<$0.0001';
  }
  const digits = usd > 0 && usd < 0.01 ? 4 : 2;
  return `$${groupThousands(usd.toFixed(digits))}`;
}
