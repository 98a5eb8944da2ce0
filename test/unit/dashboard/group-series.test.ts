import { describe, expect, it } from 'vitest';
import { groupSeries, systemCharts } from '#dashboard/charts/shape/group-series.ts';
import { exampleMetric, exampleReading, indexOf } from '../../support/page/example-series.ts';

const NONE = { search: '', pinned: new Set<string>() };

function metrics(...names: readonly string[]) {
  return indexOf(names.map((name) => exampleMetric(name, { to: 3 })));
}

describe('groups of charts', () => {
  it('are the prefixes that several names have, in natural order', () => {
    const groups = groupSeries(metrics('val/loss', 'train/layer10', 'train/layer2', 'loss'), NONE);
    expect(groups.map(({ title, charts }) => [title, charts.map(({ name }) => name)])).toEqual([
      ['Metrics', ['loss', 'val/loss']],
      ['train', ['train/layer2', 'train/layer10']],
    ]);
  });

  it('begin with what is pinned, and have only what is searched', () => {
    const pinned = new Set(['val/loss']);
    const groups = groupSeries(metrics('val/loss', 'train/loss', 'train/lr'), { search: 'LOSS', pinned });
    expect(groups.map(({ title, charts }) => [title, charts.length])).toEqual([
      ['Pinned', 1],
      ['Metrics', 1],
    ]);
  });
});

describe('charts of a machine', () => {
  it('have what belongs together in one chart, each GPU as a line', () => {
    const series = indexOf([
      exampleReading('memory/total', { unit: 'bytes' }),
      exampleReading('memory/used', { unit: 'bytes' }),
      exampleReading('gpu/10/utilization'),
      exampleReading('gpu/2/utilization'),
      exampleReading('fan/speed', { unit: 'rpm' }),
    ]);
    expect(
      systemCharts(series, 'master-0').map(({ title, unit, lines }) => [title, unit, lines.map((one) => one.label)]),
    ).toEqual([
      ['GPU utilization', '', ['GPU 2', 'GPU 10']],
      ['Memory', 'bytes', ['used', 'total']],
      ['fan/speed', 'rpm', ['fan/speed']],
    ]);
    expect(systemCharts(series, 'worker-0')).toEqual([]);
  });
});
