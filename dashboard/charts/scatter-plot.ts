// First: uPlot fails to load if the browser's language is not valid.
import '#dashboard/charts/valid-language.ts';
import uPlot from 'uplot';
import { axisStyle, type ChartColors, chartColors } from '#dashboard/charts/colors.ts';
import { formatTick } from '#dashboard/charts/shape/format-axis.ts';

export type ScatterPoint = {
  readonly x: number;
  readonly y: number;
  /** Drawn large and in color; the others are faint. */
  readonly isEmphasized: boolean;
};

export type ScatterOptions = {
  /** In the order of x. */
  readonly points: readonly ScatterPoint[];
  readonly names: { readonly x: string; readonly y: string };
  /** Whether a line connects the emphasized points. */
  readonly hasLine: boolean;
  readonly size: { readonly width: number; readonly height: number };
  /** The index of the point at the pointer; null when there is none. */
  readonly onPoint: (index: number | null) => void;
  readonly onOpen: (index: number) => void;
};

/** A drawn scatter plot. */
export type ScatterPlot = {
  setSize(size: { readonly width: number; readonly height: number }): void;
  /** Marks one point with a ring. */
  mark(index: number | null): void;
  destroy(): void;
};

/** A point is meant if the pointer is at most this far from it. */
const POINTER_PX_MAX = 20;
const RING_PX = 8;
const NAME_CHARACTERS_MAX = 60;

export function createScatterPlot(container: HTMLElement, options: ScatterOptions): ScatterPlot {
  const { points, hasLine, size, onPoint, onOpen } = options;
  const colors = chartColors();
  let marked: number | null = null;
  const ys = (isEmphasized: boolean) => points.map((point) => (point.isEmphasized === isEmphasized ? point.y : null));
  const plot = new uPlot(
    {
      ...size,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: (_, min, max) => paddedRange(min, max) },
        y: { range: (_, min, max) => paddedRange(min, max) },
      },
      axes: axesOf(options, colors),
      series: seriesOf(hasLine, colors),
      hooks: { draw: [(drawn) => drawRing(drawn, marked === null ? undefined : points[marked], colors.text)] },
    },
    [points.map(({ x }) => x), ys(false), ys(true)],
    container,
  );
  const find = ({ offsetX, offsetY }: MouseEvent) => nearestPoint(plot, points, { left: offsetX, top: offsetY });
  plot.over.addEventListener('mousemove', (event) => {
    const index = find(event);
    plot.over.style.cursor = index === null ? '' : 'pointer';
    onPoint(index);
  });
  plot.over.addEventListener('mouseleave', () => onPoint(null));
  let markedBefore: number | null = null;
  plot.over.addEventListener('pointerdown', () => {
    markedBefore = marked;
  });
  plot.over.addEventListener('click', (event) => {
    const index = find(event);
    // A finger cannot point at something without touching it: it opens what it marked before.
    const isOnlyMarked = 'pointerType' in event && event.pointerType === 'touch' && index !== markedBefore;
    if (index === null || isOnlyMarked) {
      onPoint(index);
    } else {
      onOpen(index);
    }
  });
  return {
    setSize: (next) => plot.setSize(next),
    mark(index) {
      if (index !== marked) {
        marked = index;
        plot.redraw(false);
      }
    },
    destroy: () => plot.destroy(),
  };
}

function seriesOf(hasLine: boolean, { text, series }: ChartColors): uPlot.Series[] {
  const front = series[0] ?? text;
  return [
    {},
    {
      stroke: text,
      alpha: 0.45,
      paths: () => null,
      points: { show: true, size: 6, width: 1, stroke: text, fill: text },
    },
    {
      ...{ stroke: front, width: 1.5, spanGaps: true, dash: [4, 4] },
      ...(!hasLine && { paths: () => null }),
      points: { show: true, size: 10, width: 1.5, stroke: front, fill: front },
    },
  ];
}

function axesOf({ names }: ScatterOptions, colors: ChartColors): uPlot.Axis[] {
  const common = {
    ...axisStyle(colors),
    labelSize: 18,
    labelGap: 2,
    values: (_: uPlot, splits: readonly (number | null)[]) =>
      splits.map((value) => (value === null ? '' : formatTick(value, ''))),
  } satisfies uPlot.Axis;
  return [
    { ...common, label: names.x.slice(0, NAME_CHARACTERS_MAX), size: 26, gap: 6, space: 70 },
    { ...common, label: names.y.slice(0, NAME_CHARACTERS_MAX), size: 52, gap: 6, space: 34 },
  ];
}

/** With space beside the outermost points. */
function paddedRange(min: number | null, max: number | null): uPlot.Range.MinMax {
  return min === null || max === null ? [0, 1] : uPlot.rangeNum(min, max, 0.08, false);
}

type Place = { readonly left: number; readonly top: number };

function nearestPoint(plot: uPlot, points: readonly ScatterPoint[], { left, top }: Place): number | null {
  const distances = points.map(({ x, y }) => Math.hypot(plot.valToPos(x, 'x') - left, plot.valToPos(y, 'y') - top));
  const shortest = Math.min(POINTER_PX_MAX, ...distances);
  const index = distances.indexOf(shortest);
  return index === -1 ? null : index;
}

function drawRing({ ctx, valToPos }: uPlot, point: ScatterPoint | undefined, color: string): void {
  if (point === undefined) {
    return;
  }
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.beginPath();
  ctx.arc(valToPos(point.x, 'x', true), valToPos(point.y, 'y', true), RING_PX * uPlot.pxRatio, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.restore();
}
