import { useMemo } from 'preact/hooks';
import { ChartCard, ChartContent } from '#dashboard/charts/chart-card.tsx';
import type { ChartLinks, XRange } from '#dashboard/charts/chart-links.ts';
import type { ProgramChart } from '#dashboard/charts/shape/group-series.ts';
import type { Curve } from '#dashboard/charts/shape/shape-curves.ts';
import { costAt, originOf } from '#dashboard/charts/shape/x-axis.ts';
import type { ChartSettings } from '#dashboard/screens/job/chart-settings.ts';
import { pinnedMetrics, togglePinned } from '#dashboard/screens/job/pinned-metrics.ts';
import { useChartPoints } from '#dashboard/screens/job/use-chart-points.ts';
import { useStore } from '#dashboard/store/use-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesPoints } from '#shared/protocol/metric-series.ts';
import { formatCount } from '#shared/text/format-number.ts';

const HEIGHT_PX = 176;

type Props = {
  readonly job: JobView;
  readonly chart: ProgramChart;
  readonly settings: ChartSettings;
  readonly links: ChartLinks;
  /** The part of time that all charts show, if the axis is one of time. */
  readonly domain?: XRange | undefined;
};

/** A metric of the program: a line for each attempt and replica. */
export function ProgramChartCard(props: Props) {
  const { chart } = props;
  const { name } = chart;
  const isPinned = useStore(pinnedMetrics).has(name);
  const notes = useNotes(chart);
  return (
    <ChartCard
      title={name}
      height={HEIGHT_PX}
      notes={notes}
      actions={
        <button
          type="button"
          class="chip"
          aria-pressed={isPinned}
          aria-label={`${name}: pin`}
          onClick={() => togglePinned(name)}
        >
          {isPinned ? 'Pinned' : 'Pin'}
        </button>
      }
    >
      {(isTable) => <Content {...props} isTable={isTable} />}
    </ChartCard>
  );
}

/** A last value that is not a number is said before the chart is drawn. */
function useNotes({ last }: ProgramChart): readonly string[] {
  const { value } = last.last;
  return typeof value === 'number' ? [] : [value];
}

function Content({ job, chart, settings, links, domain, isTable }: Props & { readonly isTable: boolean }) {
  const { axis, smoothing, isLogarithmic } = settings;
  const cost = useMemo(() => costAt(job), [job]);
  const origin = originOf(job);
  const query = { jobId: job.jobId, kind: 'PROGRAM', names: [chart.name] } as const;
  const { series, error, isLoading } = useChartPoints(query, { links, axis, origin, costAt: cost });
  const curves = useMemo(() => curvesOf(series, { origin, cost }), [series, origin, axis === 'cost' ? cost : null]);
  const excluded = isLogarithmic
    ? series.reduce(
        (sum, { values }) => sum + values.filter((value) => typeof value === 'number' && value <= 0).length,
        0,
      )
    : 0;
  return (
    <>
      <ChartContent
        title={chart.name}
        {...{ curves, axis, smoothing, isLogarithmic, links, domain, isTable, error, isLoading }}
        unit=""
        height={HEIGHT_PX}
      />
      {excluded > 0 && <p class="chart-footnote">{formatCount(excluded, 'value')} of 0 or below not shown.</p>}
    </>
  );
}

/** A color for each attempt, and dashes for replicas other than the first. */
export function curvesOf(
  series: readonly SeriesPoints[],
  { origin, cost }: { readonly origin: number; readonly cost: Curve['costAt'] },
): readonly Curve[] {
  const replicas = [...new Set(series.map(({ replica }) => replica))];
  const attempts = new Set(series.map(({ attempt }) => attempt));
  return series.map((points) => {
    const { attempt, replica } = points;
    const names = [
      ...(attempts.size > 1 || replicas.length === 1 ? [`attempt ${attempt}`] : []),
      ...(replicas.length > 1 ? [replica] : []),
    ];
    return {
      label: names.join(', '),
      color: attempt - 1,
      isDashed: replicas.indexOf(replica) > 0,
      points,
      origin,
      costAt: cost,
    };
  });
}
