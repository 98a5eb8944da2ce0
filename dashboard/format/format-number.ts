/** `$0.0042`, `$0.42`, `$4.12`, `$1,204`; `–` for an unknown price. */
export function formatUsd(usd: number | null): string {
  if (usd === null) {
    return '–';
  }
  if (usd > 0 && usd < 0.01) {
    return usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`;
  }
  return usd >= 1_000 ? `$${Math.round(usd).toLocaleString('en-US')}` : `$${usd.toFixed(2)}`;
}

/** Up to four significant digits, `1.2e-7` for small numbers and `12,345` for large ones. */
export function formatValue(value: number | string): string {
  if (typeof value === 'string' || !Number.isFinite(value)) {
    return String(value);
  }
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) {
    return value.toExponential(2).replace('e+', 'e');
  }
  if (Number.isInteger(value) || size >= 10_000) {
    return Math.round(value).toLocaleString('en-US');
  }
  return String(Number(value.toPrecision(4)));
}

/** `1.2 GiB`: three significant digits. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const rank = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 2 ** (10 * rank)).toPrecision(3))} ${units[rank]}`;
}

/** `42%`. */
export function formatPercent(fraction: number): string {
  return `${Math.round(fraction * 100)}%`;
}

/** `1 job`, `2 jobs`. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
