import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type ChartLinks, type LinkedCursor, setZoom, type XRange } from '#dashboard/charts/chart-links.ts';
import { seriesVariable, themeChanges } from '#dashboard/charts/colors.ts';
import { createPlot, type Plot } from '#dashboard/charts/plot.ts';
import { formatInUnit, formatX } from '#dashboard/charts/shape/format-axis.ts';
import {
  type Curve,
  indexNear,
  nearestIndex,
  type ShapedCurves,
  shapeCurves,
} from '#dashboard/charts/shape/shape-curves.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { useStore } from '#dashboard/store/use-store.ts';

export type ChartProps = {
  /** Its accessible name. */
  readonly title: string;
  readonly curves: readonly Curve[];
  readonly axis: XAxis;
  readonly unit: string;
  readonly smoothing: number;
  readonly isLogarithmic: boolean;
  readonly hasGaps?: boolean;
  /** What the x-axis shows if it is not zoomed; by default from the first to the last point. */
  readonly domain?: XRange | undefined;
  readonly links: ChartLinks;
  readonly height: number;
};

/** Curves on one pair of axes: the pointer reads values, dragging zooms, a double click shows everything again. */
export function Chart(props: ChartProps) {
  const { curves, axis, smoothing, isLogarithmic, hasGaps, links, unit } = props;
  const zoom = useStore(links.zoom)[axis];
  const theme = useStore(themeChanges);
  const shaped = useMemo(
    () => shapeCurves(curves, { axis, smoothing, isLogarithmic, ...(hasGaps === undefined ? {} : { hasGaps }) }),
    [curves, axis, smoothing, isLogarithmic, hasGaps],
  );
  const range = zoom ?? props.domain ?? wholeRange(shaped);
  const area = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef({ shaped, props, range });
  latest.current = { shaped, props, range };

  const signature = `${curves.map(({ color, isDashed }) => `${color}${isDashed}`).join()} ${axis} ${unit} ${isLogarithmic} ${smoothing > 0} ${theme}`;
  const self = useRef({}).current;

  const show = (index: number | null) => showLegend(legend.current, latest.current, index);
  const point = (index: number | null) => {
    const { shaped: now } = latest.current;
    show(index);
    const x = index === null ? undefined : now.xs[index];
    const time = index === null ? undefined : now.times[index];
    const { axis: own } = latest.current.props;
    links.cursor.set(x === undefined || time === undefined ? null : { axis: own, x, time, source: self });
  };

  useLayoutEffect(() => {
    const container = area.current;
    if (container === null) {
      return;
    }
    const size = () => ({ width: Math.max(120, container.clientWidth), height: latest.current.props.height });
    const created = createPlot(container, latest.current.shaped, {
      lines: curves,
      axis,
      unit,
      isLogarithmic,
      isSmoothed: smoothing > 0,
      range: latest.current.range,
      size: size(),
      onCursor: point,
      onZoom: (next) => setZoom(links, axis, next),
    });
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize(size()));
    observer.observe(container);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [signature, props.height]);

  useEffect(() => {
    plot.current?.setData(shaped, range);
    show(null);
  }, [shaped, range.min, range.max, signature]);

  useEffect(
    () =>
      links.cursor.subscribe(() => {
        const cursor = links.cursor.get();
        if (cursor?.source !== self) {
          const index = cursor === null ? null : followIndex(latest.current.shaped, axis, cursor);
          plot.current?.moveCursor(index === null ? null : (latest.current.shaped.xs[index] ?? null));
          show(index);
        }
      }),
    [links, axis],
  );

  const onKeyDown = useKeyboard({ links, axis, latest, plot, point });
  return (
    <>
      <div
        ref={area}
        class="plot"
        style={{ height: `${props.height}px` }}
        role="slider"
        tabIndex={0}
        aria-label={`${props.title} by ${axis === 'step' ? 'step' : axis === 'cost' ? 'cost' : 'time'}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, shaped.xs.length - 1)}
        aria-valuenow={Math.max(0, shaped.xs.length - 1)}
        aria-valuetext={describe(latest.current, shaped.xs.length - 1)}
        onKeyDown={onKeyDown}
        onBlur={() => links.cursor.get()?.source === self && point(null)}
      />
      <ul class="legend" ref={legend}>
        {curves.map(({ label, color, isDashed }) => (
          <li key={label} class="legend-item">
            <span
              class={`legend-line${isDashed ? ' legend-dashed' : ''}`}
              style={{ color: `var(${seriesVariable(color)})` }}
              aria-hidden="true"
            />
            <span class="legend-label user-text">{label}</span>
            <span class="legend-value" />
          </li>
        ))}
      </ul>
    </>
  );
}

type Latest = { readonly shaped: ShapedCurves; readonly props: ChartProps; readonly range: XRange };

type Keys = {
  readonly links: ChartLinks;
  readonly axis: XAxis;
  readonly latest: { readonly current: Latest };
  readonly plot: { readonly current: Plot | null };
  readonly point: (index: number | null) => void;
};

/** Left and right move the cursor, with Shift by a tenth; + and - zoom around it, Escape shows everything. */
function useKeyboard({ links, axis, latest, plot, point }: Keys) {
  const position = useRef<number | null>(null);
  return (event: KeyboardEvent) => {
    const { shaped, range } = latest.current;
    const last = shaped.xs.length - 1;
    const at = Math.min(last, position.current ?? last);
    const stride = event.shiftKey ? Math.max(1, Math.round(shaped.xs.length / 10)) : 1;
    const target = { ArrowLeft: at - stride, ArrowRight: at + stride, Home: 0, End: last }[event.key];
    if (target !== undefined) {
      position.current = Math.max(0, Math.min(last, target));
      plot.current?.moveCursor(shaped.xs[position.current] ?? null);
      point(position.current);
      const slider = event.currentTarget as HTMLElement;
      slider.setAttribute('aria-valuenow', String(position.current));
      slider.setAttribute('aria-valuetext', describe(latest.current, position.current));
    } else if (event.key === '+' || event.key === '-') {
      const center = shaped.xs[at] ?? range.min;
      const half = ((range.max - range.min) / 2) * (event.key === '+' ? 0.5 : 2);
      setZoom(links, axis, { min: center - half, max: center + half });
    } else if (event.key === 'Escape') {
      setZoom(links, axis, null);
    } else {
      return;
    }
    event.preventDefault();
  };
}

function wholeRange({ xs }: ShapedCurves): XRange {
  const [min = 0, max = 1] = [xs[0], xs.at(-1)];
  return min === max ? { min: min - 1, max: max + 1 } : { min, max };
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

/** Written to the document directly: the pointer moves more often than components should render. */
function showLegend(legend: HTMLElement | null, { shaped, props }: Latest, index: number | null): void {
  const items = legend?.querySelectorAll('.legend-value') ?? [];
  items.forEach((item, line) => {
    item.textContent = valueAt({ shaped, props }, line, index ?? shaped.xs.length - 1);
  });
}

function valueAt({ shaped, props }: Pick<Latest, 'shaped' | 'props'>, line: number, index: number): string {
  const column = shaped.rawColumns[line] ?? [];
  const near = nearestIndex(column, index);
  const value = near === null ? undefined : column[near];
  return typeof value === 'number' ? formatInUnit(value, props.unit) : '–';
}

function describe({ shaped, props }: Pick<Latest, 'shaped' | 'props'>, index: number): string {
  const x = shaped.xs[index];
  const values = props.curves.map(({ label }, line) => `${label} ${valueAt({ shaped, props }, line, index)}`);
  return x === undefined ? 'no values' : `${formatX(x, props.axis)}: ${values.join(', ')}`;
}
