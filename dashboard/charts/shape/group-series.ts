import type { SeriesIndex } from '#shared/protocol/metric-series.ts';

export type IndexedSeries = SeriesIndex['series'][number];

/** A chart of program metrics: one name. */
export type ProgramChart = {
  readonly name: string;
  readonly replicas: readonly string[];
  readonly last: IndexedSeries;
};

/**
 * Charts under one heading: those that are pinned, or several names with the same text before the first slash, `train` of
 * `train/loss` and `train/lr`. A heading above a single chart would only waste room: it is under Metrics.
 */
export type ChartGroup = { readonly title: string; readonly charts: readonly ProgramChart[] };

export const PINNED = 'Pinned';
const OTHERS = 'Metrics';

/** Groups a program's metrics by their prefix; pinned ones come first. Names in natural order: `layer2` before `layer10`. */
export function groupSeries(
  series: readonly IndexedSeries[],
  { search, pinned }: { readonly search: string; readonly pinned: ReadonlySet<string> },
): readonly ChartGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const byName = new Map<string, ProgramChart>();
  for (const one of series) {
    const isFound = words.every((word) => one.name.toLowerCase().includes(word));
    if (one.kind === 'PROGRAM' && isFound) {
      const known = byName.get(one.name);
      const last = known === undefined || one.last.at > known.last.last.at ? one : known.last;
      byName.set(one.name, { name: one.name, replicas: [...(known?.replicas ?? []), one.replica], last });
    }
  }
  const charts = [...byName.values()].toSorted((a, b) => compareNaturally(a.name, b.name));
  const groups = new Map<string, ProgramChart[]>([[PINNED, []]]);
  const prefixes = charts.filter(({ name }) => !pinned.has(name)).map(({ name }) => prefixOf(name));
  const counts = new Map<string, number>();
  for (const prefix of prefixes) {
    counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const titleOf = (name: string) => ((counts.get(prefixOf(name)) ?? 0) > 1 ? prefixOf(name) : OTHERS);
  for (const title of [
    ...new Set(prefixes.map((prefix) => ((counts.get(prefix) ?? 0) > 1 ? prefix : OTHERS))),
  ].toSorted((a, b) => rankOf(a) - rankOf(b) || compareNaturally(a, b))) {
    groups.set(title, []);
  }
  for (const chart of charts) {
    groups.get(pinned.has(chart.name) ? PINNED : titleOf(chart.name))?.push(chart);
  }
  return [...groups].map(([title, members]) => ({ title, charts: members })).filter((group) => group.charts.length > 0);
}

function prefixOf(name: string): string {
  const slash = name.indexOf('/');
  return slash > 0 ? name.slice(0, slash) : OTHERS;
}

function rankOf(title: string): number {
  return title === OTHERS ? 0 : 1;
}

const COLLATOR = new Intl.Collator('en', { numeric: true });

function compareNaturally(a: string, b: string): number {
  return COLLATOR.compare(a, b);
}

/** A chart of a machine: series in the same unit, each with a name in its legend. */
export type SystemChart = {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly { readonly name: string; readonly label: string }[];
};

const MACHINE_CHARTS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  ['CPU', [['cpu/fraction', 'all cores']]],
  [
    'Memory',
    [
      ['memory/used', 'used'],
      ['memory/total', 'total'],
    ],
  ],
  [
    'Disk',
    [
      ['disk/used', 'used'],
      ['disk/free', 'free'],
    ],
  ],
  [
    'Disk throughput',
    [
      ['disk/read', 'read'],
      ['disk/written', 'written'],
    ],
  ],
  [
    'Network',
    [
      ['network/received', 'received'],
      ['network/sent', 'sent'],
    ],
  ],
];

const GPU_TITLES: Readonly<Record<string, string>> = {
  utilization: 'GPU utilization',
  'memory-used': 'GPU memory',
  power: 'GPU power',
  temperature: 'GPU temperature',
  clock: 'GPU clock',
};

/** The charts of one replica's machine: what the agent measured, GPUs first. Unknown series have a chart of their own. */
export function systemCharts(series: readonly IndexedSeries[], replica: string): readonly SystemChart[] {
  const own = series.filter((one) => one.kind === 'SYSTEM' && one.replica === replica);
  const unitOf = new Map(own.map(({ name, unit }) => [name, unit ?? '']));
  const gpus = own.flatMap(({ name }) => {
    const [, index, measure = ''] = /^gpu\/(\d+)\/(.+)$/.exec(name) ?? [];
    return index === undefined ? [] : [{ name, index: Number(index), measure }];
  });
  const gpuCharts = Object.entries(GPU_TITLES).map(([measure, title]) => ({
    title,
    unit: unitOf.get(`gpu/0/${measure}`) ?? '',
    lines: gpus
      .filter((gpu) => gpu.measure === measure)
      .toSorted((a, b) => a.index - b.index)
      .map(({ name, index }) => ({ name, label: `GPU ${index}` })),
  }));
  const machineCharts = MACHINE_CHARTS.map(([title, lines]) => ({
    title,
    unit: lines.map(([name]) => unitOf.get(name)).find((unit) => unit !== undefined) ?? '',
    lines: lines.filter(([name]) => unitOf.has(name)).map(([name, label]) => ({ name, label })),
  }));
  const known = new Set([...gpuCharts, ...machineCharts].flatMap(({ lines }) => lines.map(({ name }) => name)));
  const others = own
    .filter(({ name }) => !known.has(name) && !name.endsWith('/memory-total'))
    .map(({ name, unit }) => ({ title: name, unit: unit ?? '', lines: [{ name, label: name }] }));
  return [...gpuCharts, ...machineCharts, ...others].filter(({ lines }) => lines.length > 0);
}
