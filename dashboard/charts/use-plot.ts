import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { type ChartProps, type LinkedCursor, setZoom, type XRange } from '#dashboard/charts/chart-links.ts';
import { themeChanges } from '#dashboard/charts/colors.ts';
import { showLegend } from '#dashboard/charts/legend.ts';
import { createPlot, type Plot } from '#dashboard/charts/plot.ts';
import { indexNear, type ShapedCurves } from '#dashboard/charts/shape/shape-curves.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { useStore } from '#dashboard/store/use-store.ts';

/** A chart with what it shows now. */
export type ShownChart = { readonly props: ChartProps; readonly shaped: ShapedCurves; readonly range: XRange };

export type PlotHandle = {
  readonly area: RefObject<HTMLDivElement | null>;
  readonly legend: RefObject<HTMLUListElement | null>;
  readonly latest: { readonly current: ShownChart };
  /** Shows the values at an index here and in the linked charts; null for the last ones. */
  readonly point: (index: number | null) => void;
  /** The same, and moves the line of this chart there. */
  readonly moveTo: (index: number) => void;
};

/** Draws a chart, keeps it up to date with its data, size and theme, and links its cursor with the other charts. */
export function usePlot(shown: ShownChart): PlotHandle {
  const { props, shaped, range } = shown;
  const { curves, axis, unit, isLogarithmic, smoothing, links } = props;
  const area = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(shown);
  latest.current = shown;
  const theme = useStore(themeChanges);
  // The facts that cannot change in a drawn chart: if they differ, it is drawn from scratch.
  const lines = curves.map(({ color, isDashed }) => ({ color, isDashed }));
  const signature = JSON.stringify([lines, axis, unit, isLogarithmic, smoothing > 0, theme]);

  const point = (index: number | null) => {
    const { xs, times } = latest.current.shaped;
    showLegend(legend.current, latest.current, index);
    const [x, time] = index === null ? [] : [xs[index], times[index]];
    const source = latest;
    links.cursor.set(x === undefined || time === undefined ? null : { axis, x, time, source });
  };

  useLayoutEffect(() => {
    const container = area.current;
    if (container === null) {
      return;
    }
    const created = drawIn(container, { latest, lines, point });
    plot.current = created.plot;
    return created.close;
  }, [signature, props.height]);

  const drawn = useRef<ShapedCurves | null>(null);
  useEffect(() => {
    // A new chart has its data already, and a zoom changes nothing but the range.
    if (drawn.current === null || drawn.current === shaped) {
      plot.current?.setRange(range);
    } else {
      plot.current?.setData(shaped, range);
    }
    drawn.current = shaped;
    showLegend(legend.current, latest.current, null);
  }, [shaped, range.min, range.max, signature]);

  useEffect(() => {
    return links.cursor.subscribe(() => {
      const cursor = links.cursor.get();
      if (cursor?.source !== latest) {
        const { shaped: now } = latest.current;
        const index = cursor === null ? null : followIndex(now, axis, cursor);
        plot.current?.moveCursor(index === null ? null : (now.xs[index] ?? null));
        showLegend(legend.current, latest.current, index);
      }
    });
  }, [links, axis]);

  const moveTo = (index: number) => {
    plot.current?.moveCursor(latest.current.shaped.xs[index] ?? null);
    point(index);
  };
  return { area, legend, latest, point, moveTo };
}

type Drawing = {
  readonly latest: { readonly current: ShownChart };
  readonly lines: readonly { readonly color: number; readonly isDashed: boolean }[];
  readonly point: (index: number | null) => void;
};

function drawIn(container: HTMLElement, { latest, lines, point }: Drawing) {
  const { props, shaped, range } = latest.current;
  const { axis, unit, isLogarithmic, smoothing, links } = props;
  const size = () => ({ width: Math.max(120, container.clientWidth), height: latest.current.props.height });
  const plot = createPlot(container, shaped, {
    ...{ lines, axis, unit, isLogarithmic, range },
    isSmoothed: smoothing > 0,
    size: size(),
    onCursor: point,
    onZoom: (next) => setZoom(links, axis, next),
  });
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(container);
  const close = () => {
    observer.disconnect();
    plot.destroy();
  };
  return { plot, close };
}

/** The index of another chart's cursor: the same x on the same axis, otherwise the same time. */
function followIndex({ xs, times }: ShapedCurves, axis: XAxis, cursor: LinkedCursor): number | null {
  if (xs.length === 0) {
    return null;
  }
  if (cursor.axis === axis) {
    return indexNear(xs, cursor.x);
  }
  let nearest = 0;
  for (let index = 1; index < times.length; index += 1) {
    const distance = Math.abs((times[index] ?? 0) - cursor.time);
    nearest = distance < Math.abs((times[nearest] ?? 0) - cursor.time) ? index : nearest;
  }
  return nearest;
}
