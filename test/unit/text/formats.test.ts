import { describe, expect, it } from 'vitest';
import { formatBytes, formatInUnit, formatParameters, formatValue } from '#shared/text/format-number.ts';
import { formatAgo, formatDuration, formatMoment, formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

describe('times', () => {
  it.each([
    [0, '0 s'],
    [840, '0.8 s'],
    [9_999, '10 s'],
    [10_400, '10 s'],
    [59_700, '1 min'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [3_661_000, '1 h 1 min'],
    [2 * 86_400_000 + 3_600_000, '2 d 1 h'],
  ])('%i ms is %s', (durationMs, expected) => {
    expect(formatDuration(durationMs)).toBe(expected);
  });

  it('are relative and absolute, and never in the future', () => {
    const time = '2026-11-21T06:00:00.000Z';
    expect(formatMoment(time, Date.parse(time) + 180_000)).toBe('3 min ago (2026-11-21 06:00:00 UTC)');
    expect(formatAgo(time, Date.parse(time) - 5_000)).toBe('just now');
  });

  it('of a span are until its end or now, and nothing before its start', () => {
    const [startTime, endTime] = ['2026-11-21T06:00:00.000Z', '2026-11-21T06:02:00.000Z'];
    const nowMs = Date.parse(endTime) + 60_000;
    expect(formatSpan({ startTime, endTime }, nowMs)).toBe('2 min');
    expect(formatSpan({ startTime, endTime: null }, nowMs)).toBe('3 min');
    expect(formatSpan({ startTime: null, endTime: null }, nowMs)).toBe('');
  });
});

it.each([
  [null, '–'],
  [0, '$0.00'],
  [0.00002, '<$0.0001'],
  [0.0042, '$0.0042'],
  [0.19, '$0.19'],
  [1_204.5, '$1,204.50'],
])('%j US dollars are %s', (usd, expected) => {
  expect(formatUsd(usd)).toBe(expected);
});

it.each([
  [0, '0'],
  [12_345, '12,345'],
  [0.030512, '0.03051'],
  [0.0003, '0.0003'],
  [1.2e-7, '1.2e-7'],
  [-12_345.6, '-12,346'],
  [1.234e12, '1.23e12'],
  [Number.NaN, 'NaN'],
  ['Infinity', 'Infinity'],
])('the value %j is %s', (value, expected) => {
  expect(formatValue(value)).toBe(expected);
});

it.each([
  [0.64, 'fraction', '64 %'],
  [512, 'bytes', '512 B'],
  [48 << 20, 'bytes', '48 MiB'],
  [1_300_000_000, 'bytes/second', '1.21 GiB/s'],
  [1_410e6, 'hertz', '1,410 MHz'],
  [63.7, 'celsius', '64 °C'],
  ['NaN', 'watts', 'NaN'],
  [0.123456, null, '0.1235'],
])('%j in the unit %j is %s', (value, unit, expected) => {
  expect(formatInUnit(value, unit)).toBe(expected);
});

it('sizes below a byte and beyond the largest unit have a unit, too', () => {
  expect([formatBytes(0), formatBytes(2 ** 62)]).toEqual(['0 B', '4100 PiB']);
});

it('parameters have their values as they are shown elsewhere', () => {
  expect(formatParameters({ learning_rate: 0.0312544, layers: 3, optimizer: 'adam' })).toBe(
    'learning_rate=0.03125 layers=3 optimizer=adam',
  );
});
