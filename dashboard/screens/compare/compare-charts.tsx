import { useMemo } from 'preact/hooks';
import { ChartCard, ChartContent } from '#dashboard/charts/chart-card.tsx';
import type { ChartLinks } from '#dashboard/charts/chart-links.ts';
import type { Curve } from '#dashboard/charts/shape/shape-curves.ts';
import { costAt, originOf } from '#dashboard/charts/shape/x-axis.ts';
import { useResources } from '#dashboard/client/use-resource.ts';
import { mergeAttempts } from '#dashboard/screens/compare/merge-attempts.ts';
import type { ChartSettings } from '#dashboard/screens/job/chart-settings.ts';
import { selectMain } from '#shared/domain/replica-name.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesPage } from '#shared/protocol/metric-series.ts';

const HEIGHT_PX = 240;

type Props = {
  readonly name: string;
  readonly jobs: readonly JobView[];
  readonly settings: ChartSettings;
  readonly links: ChartLinks;
};

/** One metric of several jobs: a line for each. */
export function CompareChart(props: Props) {
  return (
    <ChartCard title={props.name} height={HEIGHT_PX}>
      {(isTable) => <Content {...props} isTable={isTable} />}
    </ChartCard>
  );
}

function Content({ name, jobs, settings, links, isTable }: Props & { readonly isTable: boolean }) {
  const query = new URLSearchParams({ kind: 'PROGRAM', name });
  const ids = jobs.map(({ jobId }) => jobId);
  const pages = useResources<SeriesPage>(
    ids.map((id) => `/v1/jobs/${encodeURIComponent(id)}/metrics/points?${query}`),
    ids,
  );
  const curves = useMemo(() => curvesOf(jobs, pages), [...jobs, ...pages]);
  const { axis, smoothing, isLogarithmic } = settings;
  return (
    <ChartContent
      {...{ curves, axis, smoothing, isLogarithmic, links, isTable }}
      title={name}
      unit=""
      height={HEIGHT_PX}
      error={null}
      isLoading={pages.includes(undefined)}
    />
  );
}

/** Eight colors, then the same ones dashed. */
export const COLOR_COUNT = 8;

function curvesOf(jobs: readonly JobView[], pages: readonly (SeriesPage | undefined)[]): readonly Curve[] {
  return jobs.flatMap((job, index): readonly Curve[] => {
    const points = mergeAttempts(selectMain(pages[index]?.series ?? []));
    const style = { color: index % COLOR_COUNT, isDashed: index >= COLOR_COUNT };
    return points.values.length === 0
      ? []
      : [{ ...style, label: job.jobId, points, origin: originOf(job), costAt: costAt(job) }];
  });
}
