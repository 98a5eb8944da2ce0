import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { formatInUnit, formatValue } from '#shared/text/format-number.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** A position on the x-axis, as the legend shows it. */
export function formatX(x: number, axis: XAxis): string {
  switch (axis) {
    case 'step':
      return `step ${formatValue(x)}`;
    case 'relative':
      return `${x < 0 ? '−' : '+'}${formatDuration(Math.abs(x))}`;
    case 'wall':
      return new Date(x).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
    case 'cost':
      return formatUsd(x);
  }
}

/** A short tick of the y-axis: `0.0001`, `12k`, `3.4M`, `1e-7`. */
export function formatTick(value: number, unit: string): string {
  if (unit !== '' && unit !== 'seconds') {
    return formatInUnit(value, unit);
  }
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) {
    return value
      .toExponential()
      .replace('e+', 'e')
      .replace(/^(-?\d\.\d)\d+/, '$1');
  }
  if (size >= 1e6) {
    return `${Number((value / 1e6).toPrecision(3))}M`;
  }
  return size >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : String(Number(value.toPrecision(4)));
}

const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400].map(
  (seconds) => seconds * 1_000,
);

/** Positions of ticks on an axis of durations: whole seconds, minutes, hours or days. */
export function durationSplits(min: number, max: number, countMax: number): number[] {
  const least = (max - min) / Math.max(1, countMax);
  const step = STEPS_MS.find((one) => one >= least) ?? Math.ceil(least / 86_400_000) * 86_400_000;
  const splits: number[] = [];
  for (let at = Math.ceil(min / step) * step; at <= max; at += step) {
    splits.push(at);
  }
  return splits;
}
