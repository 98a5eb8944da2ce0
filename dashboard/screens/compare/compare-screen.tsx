import { useMemo, useState } from 'preact/hooks';
import { createChartLinks } from '#dashboard/charts/chart-links.ts';
import { groupSeries } from '#dashboard/charts/shape/group-series.ts';
import { useResources } from '#dashboard/client/use-resource.ts';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { navigate, setQuery } from '#dashboard/navigation/location.ts';
import { CompareChart } from '#dashboard/screens/compare/compare-charts.tsx';
import { CompareTable } from '#dashboard/screens/compare/compare-table.tsx';
import { type ComparedJob, lastValuesOf, parametersOf } from '#dashboard/screens/compare/parameters.ts';
import { useChartSettings } from '#dashboard/screens/job/chart-settings.ts';
import { ChartToolbar, MetricSearch } from '#dashboard/screens/job/chart-toolbar.tsx';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesIndex } from '#shared/protocol/metric-series.ts';

const JOBS_MAX = 20;
const NONE: ReadonlySet<string> = new Set();

/** The curves and parameters of several jobs side by side. */
export function CompareScreen({ jobIds }: { readonly jobIds: readonly string[] }) {
  const shownIds = jobIds.slice(0, JOBS_MAX);
  const jobs = useComparedJobs(shownIds);
  const set = (ids: readonly string[]) => setQuery({ jobs: ids.join(',') });
  const missing = shownIds.filter((id) => !jobs.some(({ view }) => view.jobId === id));
  return (
    <article class="job">
      <header class="job-title">
        <h1 class="screen-title">Compare</h1>
        <AddJob onAdd={(jobId) => set([...shownIds, jobId])} />
      </header>
      {jobIds.length > JOBS_MAX && (
        <p class="muted">
          At most {JOBS_MAX} jobs are compared: the first of {jobIds.length} are shown.
        </p>
      )}
      {shownIds.length === 0 && (
        <EmptyState title="No jobs to compare">
          <p>Select jobs in the list of jobs, or add their ids above.</p>
          <button type="button" class="button" onClick={() => navigate('/')}>
            Show all jobs
          </button>
        </EmptyState>
      )}
      {missing.length > 0 && <p class="muted user-text">Not loaded: {missing.join(', ')}</p>}
      {jobs.length > 0 && <Comparison jobs={jobs} onRemove={(jobId) => set(shownIds.filter((id) => id !== jobId))} />}
    </article>
  );
}

type ComparisonProps = {
  readonly jobs: readonly (ComparedJob & { readonly series: SeriesIndex['series'] })[];
  readonly onRemove: (jobId: string) => void;
};

function Comparison({ jobs, onRemove }: ComparisonProps) {
  const settings = useChartSettings('step');
  const links = useMemo(createChartLinks, []);
  const { search } = settings;
  const groups = groupSeries(
    jobs.flatMap(({ series }) => series),
    { search, pinned: NONE },
  );
  const names = groups.flatMap(({ charts }) => charts.map(({ name }) => name));
  const views = jobs.map(({ view }) => view);
  return (
    <>
      <CompareTable jobs={jobs} metricNames={names} onRemove={onRemove} />
      <section aria-label="Metrics">
        <ChartToolbar settings={settings} axes={['step', 'relative', 'cost']} links={links}>
          <MetricSearch search={search} />
        </ChartToolbar>
        {names.length === 0 && (
          <EmptyState title={search === '' ? 'These jobs have reported no metrics' : 'No metric matches'} />
        )}
        <div class="chart-grid chart-grid-large">
          {names.map((name) => (
            <CompareChart key={name} name={name} jobs={views} settings={settings} links={links} />
          ))}
        </div>
      </section>
    </>
  );
}

function AddJob({ onAdd }: { readonly onAdd: (jobId: string) => void }) {
  const [jobId, setJobId] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (jobId.trim() !== '') {
      onAdd(jobId.trim());
      setJobId('');
    }
  };
  return (
    <form class="toolbar job-actions" onSubmit={submit}>
      <input
        class="input"
        aria-label="Job id"
        placeholder="Job id"
        value={jobId}
        onInput={(event) => setJobId(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Add
      </button>
    </form>
  );
}

function useComparedJobs(ids: readonly string[]) {
  const paths = ids.map((id) => `/v1/jobs/${encodeURIComponent(id)}`);
  const views = useResources<JobView>(paths, ids);
  const definitions = useResources<JobDefinition>(paths.map((path) => `${path}/definition`));
  const indexes = useResources<SeriesIndex>(
    paths.map((path) => `${path}/metrics`),
    ids,
  );
  return useMemo(
    () =>
      views.flatMap((view, index) => {
        const series = indexes[index]?.series ?? [];
        return view === undefined
          ? []
          : [{ view, parameters: parametersOf(view, definitions[index]), metrics: lastValuesOf(series), series }];
      }),
    [...views, ...definitions, ...indexes],
  );
}
