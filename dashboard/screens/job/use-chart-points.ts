import { useMemo } from 'preact/hooks';
import type { ChartLinks } from '#dashboard/charts/chart-links.ts';
import { type Curve, shapeCurves, timesWithin } from '#dashboard/charts/shape/shape-curves.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import type { ApiError } from '#dashboard/client/api-error.ts';
import { useResource } from '#dashboard/client/use-resource.ts';
import { useStore } from '#dashboard/store/use-store.ts';
import type { SeriesKind, SeriesPage, SeriesPoints } from '#shared/protocol/metric-series.ts';

export type PointsQuery = {
  readonly jobId: string;
  readonly kind: SeriesKind;
  readonly names: readonly string[];
  readonly replica?: string | undefined;
};

export type ChartPoints = {
  readonly series: readonly SeriesPoints[];
  readonly error: ApiError | null;
  readonly isLoading: boolean;
};

type Shown = {
  readonly links: ChartLinks;
  readonly axis: XAxis;
  readonly origin: number;
  readonly costAt?: Curve['costAt'];
};

/** The points of a chart. Zoomed in, those of the visible part are requested in finer steps, if they were thinned out. */
export function useChartPoints(query: PointsQuery, { links, axis, origin, costAt }: Shown): ChartPoints {
  const path = pathOf(query);
  const whole = useResource<SeriesPage>(path, [query.jobId]);
  const zoom = useStore(links.zoom)[axis];
  const series = whole.data?.series ?? NO_SERIES;
  const range = useMemo(() => {
    const isThinned = series.some(({ pointCount, times }) => pointCount > times.length);
    if (zoom === undefined || !isThinned) {
      return null;
    }
    const curves = series.map((points) => ({ label: '', color: 0, isDashed: false, points, origin, costAt }));
    return timesWithin(shapeCurves(curves, { axis, smoothing: 0, isLogarithmic: false }), zoom);
  }, [series, zoom, axis, origin]);
  const fine = useResource<SeriesPage>(
    range === null ? null : `${path}&from=${Math.floor(range.from)}&to=${Math.ceil(range.to)}`,
    [query.jobId],
  );
  const { error, isLoading } = whole;
  return { series: fine.data?.series ?? series, error, isLoading };
}

const NO_SERIES: readonly SeriesPoints[] = [];

function pathOf({ jobId, kind, names, replica }: PointsQuery): string {
  const parameters = new URLSearchParams({ kind, ...(replica === undefined ? {} : { replica }) });
  for (const name of names) {
    parameters.append('name', name);
  }
  return `/v1/jobs/${encodeURIComponent(jobId)}/metrics/points?${parameters}`;
}
