import { SMOOTHING_MAX } from '#dashboard/charts/shape/smooth.ts';
import { X_AXES, type XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { setQuery, useQuery } from '#dashboard/navigation/location.ts';

/** How the charts of a screen are drawn; in the address, so that a link shows the same. */
export type ChartSettings = {
  readonly axis: XAxis;
  readonly smoothing: number;
  readonly isLogarithmic: boolean;
  readonly search: string;
};

export function useChartSettings(axisDefault: XAxis): ChartSettings {
  return readChartSettings(useQuery(), axisDefault);
}

/** Unknown values are those of the default. */
export function readChartSettings(query: URLSearchParams, axisDefault: XAxis): ChartSettings {
  const smoothing = Number(query.get('smoothing'));
  return {
    axis: X_AXES.find((axis) => axis === query.get('x')) ?? axisDefault,
    smoothing: smoothing > 0 && smoothing <= SMOOTHING_MAX ? smoothing : 0,
    isLogarithmic: query.get('y') === 'log',
    search: query.get('metric') ?? '',
  };
}

export function setChartSettings(changes: Partial<ChartSettings>): void {
  const { axis, smoothing, isLogarithmic, search } = changes;
  setQuery({
    ...(axis !== undefined && { x: axis }),
    ...(smoothing !== undefined && { smoothing: smoothing === 0 ? '' : String(smoothing) }),
    ...(isLogarithmic !== undefined && { y: isLogarithmic ? 'log' : '' }),
    ...(search !== undefined && { metric: search }),
  });
}
