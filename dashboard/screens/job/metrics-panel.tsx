import { useMemo } from 'preact/hooks';
import { type ChartLinks, createChartLinks, type XRange } from '#dashboard/charts/chart-links.ts';
import { groupSeries } from '#dashboard/charts/shape/group-series.ts';
import { originOf } from '#dashboard/charts/shape/x-axis.ts';
import { useResource } from '#dashboard/client/use-resource.ts';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { type ChartSettings, useChartSettings } from '#dashboard/screens/job/chart-settings.ts';
import { ChartToolbar, MetricSearch } from '#dashboard/screens/job/chart-toolbar.tsx';
import { JobTimeline, timeDomain, toAxis } from '#dashboard/screens/job/job-timeline.tsx';
import { pinnedMetrics } from '#dashboard/screens/job/pinned-metrics.ts';
import { ProgramChartCard } from '#dashboard/screens/job/program-chart.tsx';
import { SystemCharts } from '#dashboard/screens/job/system-charts.tsx';
import { useStore } from '#dashboard/store/use-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesIndex } from '#shared/protocol/metric-series.ts';
import { formatCount } from '#shared/text/format-number.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';

/** The attempts, what the program reported and what its machines did, with one cursor. */
export function MetricsPanel({ job }: { readonly job: JobView }) {
  const links = useMemo(createChartLinks, []);
  const settings = useChartSettings('step');
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}/metrics`;
  const { data, error, isLoading, reload } = useResource<SeriesIndex>(path, [job.jobId]);
  const origin = originOf(job);
  const domain = timeDomain(job, Date.now());
  const axis = settings.axis === 'wall' ? 'wall' : 'relative';
  const shown = toAxis(domain, axis === 'wall' ? 0 : origin);
  const series = data?.series ?? NO_SERIES;
  const hasProgram = series.some(({ kind }) => kind === 'PROGRAM');
  return (
    <>
      {job.timeline.length > 0 && <JobTimeline {...{ job, domain, links, axis, origin }} />}
      {error !== null && error.status !== 404 && <ErrorPanel error={error} onRetry={reload} />}
      {hasProgram ? (
        <ProgramCharts {...{ job, series, settings, links }} domain={settings.axis === axis ? shown : undefined} />
      ) : (
        !isLoading && (
          <div class="card">
            <NoMetrics job={job} />
          </div>
        )
      )}
      {data !== undefined && <Omitted omitted={data.omitted} />}
      <SystemCharts {...{ job, series, axis, links }} domain={shown} />
    </>
  );
}

const NO_SERIES: SeriesIndex['series'] = [];

type ProgramProps = {
  readonly job: JobView;
  readonly series: SeriesIndex['series'];
  readonly settings: ChartSettings;
  readonly links: ChartLinks;
  readonly domain: XRange | undefined;
};

function ProgramCharts({ job, series, settings, links, domain }: ProgramProps) {
  const pinned = useStore(pinnedMetrics);
  const { search } = settings;
  const groups = useMemo(() => groupSeries(series, { search, pinned }), [series, search, pinned]);
  return (
    <section aria-label="Metrics of the program">
      <ChartToolbar settings={settings} axes={['step', 'relative', 'wall', 'cost']} links={links}>
        <MetricSearch search={search} />
      </ChartToolbar>
      {groups.length === 0 && <EmptyState title="No metric matches">Change the search for metrics.</EmptyState>}
      {groups.map(({ title, charts }) => (
        <details key={title} open class="chart-group">
          <summary>
            <span class="user-text">{title}</span>
            <span class="muted">{charts.length}</span>
          </summary>
          <div class="chart-grid">
            {charts.map((chart) => (
              <ProgramChartCard key={chart.name} {...{ job, chart, settings, links, domain }} />
            ))}
          </div>
        </details>
      ))}
    </section>
  );
}

function NoMetrics({ job }: { readonly job: JobView }) {
  const isOver = isEnded(job);
  const hasRun = job.timeline.some(({ phases }) => phases.some(({ phase }) => phase === 'RUNNING'));
  if (isOver && !hasRun && job.timeline.length > 0) {
    return <EmptyState title="The program did not run" />;
  }
  return (
    <EmptyState title={isOver ? 'The program reported no metrics' : 'No metrics yet'}>
      <p>
        Write lines such as <code>{'{"step": 10, "loss": 0.3}'}</code> to the file that{' '}
        <code>DROPFORGE_METRICS_FILE</code> names, or TensorBoard event files to the output directory.
      </p>
    </EmptyState>
  );
}

function Omitted({ omitted }: Pick<SeriesIndex, 'omitted'>) {
  const parts = [
    ...(omitted.series > 0 ? [formatCount(omitted.series, 'metric')] : []),
    ...(omitted.points > 0 ? [formatCount(omitted.points, 'point')] : []),
  ];
  return parts.length === 0 ? null : (
    <p class="muted">Not shown, because a limit was exceeded: {parts.join(' and ')}.</p>
  );
}
