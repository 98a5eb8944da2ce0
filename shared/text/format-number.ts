/** Up to four significant digits: `0.0305`, `1.2e-7`, `12,345`, `1.23e9`. A text, such as `NaN`, stays as it is. */
export function formatValue(value: number | string): string {
  if (typeof value === 'string' || !Number.isFinite(value)) {
    return String(value);
  }
  const size = Math.abs(value);
  if (size >= 1e9) {
    return value.toExponential(2).replace('e+', 'e');
  }
  return Number.isInteger(value) || size >= 10_000
    ? groupThousands(String(Math.round(value)))
    : String(Number(value.toPrecision(4)));
}

/** `12,345.67`. Not with `toLocaleString`, whose first call loads the data of all locales. */
export function groupThousands(digits: string): string {
  return digits.replace(/\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','));
}

/** `learning_rate=0.031 optimizer=adam`. */
export function formatParameters(parameters: Readonly<Record<string, number | string>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${formatValue(value)}`)
    .join(' ');
}

/** A value in the unit of its series: `64 %`, `1.2 GiB/s`, `310 W`; without a unit, the number. */
export function formatInUnit(value: number | string, unit: string | null): string {
  if (typeof value === 'string') {
    return value;
  }
  switch (unit) {
    case 'fraction':
      return formatPercent(value);
    case 'bytes':
      return formatBytes(value);
    case 'bytes/second':
      return `${formatBytes(value)}/s`;
    case 'watts':
      return `${Math.round(value)} W`;
    case 'celsius':
      return `${Math.round(value)} °C`;
    case 'hertz':
      return `${formatValue(value / 1e6)} MHz`;
    default:
      return formatValue(value);
  }
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `1.2 GiB`: three significant digits. */
export function formatBytes(sizeBytes: number): string {
  const rank = sizeBytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(sizeBytes) / 10));
  return `${Number((sizeBytes / 2 ** (10 * rank)).toPrecision(3))} ${BYTE_UNITS[rank]}`;
}

/** `42 %`. */
export function formatPercent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** `1 job`, `2 jobs`. */
export function formatCount(count: number, noun: string): string {
  return `${groupThousands(String(count))} ${noun}${count === 1 ? '' : 's'}`;
}
