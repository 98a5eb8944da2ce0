import { useMemo, useState } from 'preact/hooks';
import { ChartCard, ChartContent } from '#dashboard/charts/chart-card.tsx';
import type { ChartLinks, XRange } from '#dashboard/charts/chart-links.ts';
import { type IndexedSeries, type SystemChart, systemCharts } from '#dashboard/charts/shape/group-series.ts';
import type { Curve } from '#dashboard/charts/shape/shape-curves.ts';
import { originOf, type XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { useChartPoints } from '#dashboard/screens/job/use-chart-points.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesPoints } from '#shared/protocol/metric-series.ts';

const HEIGHT_PX = 132;

type Props = {
  readonly job: JobView;
  readonly series: readonly IndexedSeries[];
  /** An axis of time. */
  readonly axis: XAxis;
  readonly domain: XRange;
  readonly links: ChartLinks;
};

/** Charts of the agents' measurements of the VMs: GPUs, CPU, memory, disk and network of one replica. */
export function SystemCharts({ job, series, axis, domain, links }: Props) {
  const replicas = useMemo(
    () => [...new Set(series.filter(({ kind }) => kind === 'SYSTEM').map(({ replica }) => replica))].sort(),
    [series],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const replica = chosen ?? (replicas.includes('master-0') ? 'master-0' : replicas[0]);
  const charts = useMemo(() => (replica === undefined ? [] : systemCharts(series, replica)), [series, replica]);
  if (replica === undefined) {
    return null;
  }
  return (
    <section aria-labelledby="system-title">
      <header class="section-header">
        <h2 id="system-title">Machine</h2>
        {replicas.length > 1 && (
          <select
            class="select"
            aria-label="Replica of the machine charts"
            value={replica}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {replicas.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </header>
      <div class="chart-grid">
        {charts.map((chart) => (
          <ChartCard key={`${replica} ${chart.title}`} title={chart.title} height={HEIGHT_PX}>
            {(isTable) => <Content {...{ job, chart, replica, axis, domain, links, isTable }} />}
          </ChartCard>
        ))}
      </div>
    </section>
  );
}

type ContentProps = Omit<Props, 'series'> & {
  readonly chart: SystemChart;
  readonly replica: string;
  readonly isTable: boolean;
};

function Content({ job, chart, replica, axis, domain, links, isTable }: ContentProps) {
  const origin = originOf(job);
  const names = chart.lines.map(({ name }) => name);
  const query = { jobId: job.jobId, kind: 'SYSTEM', names, replica } as const;
  const { series, error, isLoading } = useChartPoints(query, { links, axis, origin });
  const curves = useMemo(() => systemCurves(chart, series, origin), [chart, series, origin]);
  return (
    <ChartContent
      {...{ curves, axis, domain, links, isTable, error, isLoading }}
      title={chart.title}
      unit={chart.unit}
      smoothing={0}
      isLogarithmic={false}
      hasGaps
      height={HEIGHT_PX}
    />
  );
}

/** A chart of one measurement has a color for each attempt; of several, a color for each, and one line over all attempts. */
function systemCurves(
  { lines }: Pick<SystemChart, 'lines'>,
  series: readonly SeriesPoints[],
  origin: number,
): readonly Curve[] {
  if (lines.length === 1) {
    return series.map((points) => ({
      ...{ points, origin, isDashed: false },
      label: `attempt ${points.attempt}`,
      color: points.attempt - 1,
    }));
  }
  return lines.flatMap(({ name, label }, index) => {
    const parts = series.filter((one) => one.name === name);
    const points = {
      steps: null,
      times: parts.flatMap(({ times }) => times),
      values: parts.flatMap(({ values }) => values),
    };
    return points.times.length === 0 ? [] : [{ label, color: index, isDashed: label === 'total', points, origin }];
  });
}
