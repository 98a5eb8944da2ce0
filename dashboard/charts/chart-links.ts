import type { Curve } from '#dashboard/charts/shape/shape-curves.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { createStore, type Store } from '#dashboard/store/store.ts';

/** Where the reader points, on the axis of the chart that has the pointer or the focus, and the time there. */
export type LinkedCursor = {
  readonly axis: XAxis;
  readonly x: number;
  readonly time: number;
  /** The chart that set it, which does not follow itself. */
  readonly source: object;
};

export type XRange = { readonly min: number; readonly max: number };

/** The state that the charts of a screen share. */
export type ChartLinks = {
  readonly cursor: Store<LinkedCursor | null>;
  /** The part that is shown of each axis; absent for all of it. */
  readonly zoom: Store<Readonly<Partial<Record<XAxis, XRange>>>>;
};

export function createChartLinks(): ChartLinks {
  return { cursor: createStore<LinkedCursor | null>(null), zoom: createStore({}) };
}

export function setZoom({ zoom }: ChartLinks, axis: XAxis, range: XRange | null): void {
  const { [axis]: _previous, ...others } = zoom.get();
  zoom.set(range === null ? others : { ...others, [axis]: range });
}

export type ChartProps = {
  /** Its accessible name. */
  readonly title: string;
  readonly curves: readonly Curve[];
  readonly axis: XAxis;
  readonly unit: string;
  /** Weight of the moving average, 0 for none. */
  readonly smoothing: number;
  readonly isLogarithmic: boolean;
  readonly hasGaps?: boolean;
  /** The range that the x-axis shows if it is not zoomed; by default from the first to the last point. */
  readonly domain?: XRange | undefined;
  readonly links: ChartLinks;
  readonly height: number;
};
