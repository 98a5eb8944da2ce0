// First: uPlot fails to load if the browser's language is not valid.
import '#dashboard/charts/valid-language.ts';
import uPlot from 'uplot';
import type { XRange } from '#dashboard/charts/chart-links.ts';
import { axisStyle, type ChartColors, chartColors, SERIES_COLOR_COUNT } from '#dashboard/charts/colors.ts';
import { durationSplits, formatTick, formatX } from '#dashboard/charts/shape/format-axis.ts';
import type { ShapedCurves } from '#dashboard/charts/shape/shape-curves.ts';
import type { Column } from '#dashboard/charts/shape/smooth.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';

export type PlotLine = { readonly color: number; readonly isDashed: boolean };

export type PlotOptions = {
  readonly lines: readonly PlotLine[];
  readonly axis: XAxis;
  readonly unit: string;
  readonly isLogarithmic: boolean;
  readonly isSmoothed: boolean;
  readonly range: XRange;
  readonly size: { readonly width: number; readonly height: number };
  /** The index in the data at the pointer; null when it leaves. Not called for `moveCursor`. */
  readonly onCursor: (index: number | null) => void;
  readonly onZoom: (range: XRange | null) => void;
};

/** A drawn chart. */
export type Plot = {
  setData(shaped: ShapedCurves, range: XRange): void;
  setRange(range: XRange): void;
  setSize(size: { readonly width: number; readonly height: number }): void;
  moveCursor(x: number | null): void;
  destroy(): void;
};

const Y_AXIS_PX = 58;
const DRAG_PX_MIN = 4;
const FADED = 0.28;

/** Steps of a scale of bytes: 1 B to 2 EiB. */
const POWERS_OF_TWO = Array.from({ length: 62 }, (_, power) => 2 ** power);

export function createPlot(container: HTMLElement, shaped: ShapedCurves, options: PlotOptions): Plot {
  const colors = chartColors();
  let marks = shaped.marks;
  let isFollowing = false;
  const plot = new uPlot(
    {
      ...options.size,
      ms: 1,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: DRAG_PX_MIN },
        points: { size: 7, width: 2 },
        bind: {
          dblclick: () => () => {
            options.onZoom(null);
            return null;
          },
        },
      },
      scales: scalesOf(options),
      axes: axesOf(options, colors),
      series: [{}, ...seriesOf(options, colors)],
      hooks: {
        draw: [(drawn) => drawMarks(drawn, marks, colors.mark)],
        setCursor: [
          ({ cursor }) => {
            if (!isFollowing) {
              options.onCursor((cursor.left ?? -1) < 0 ? null : (cursor.idx ?? null));
            }
          },
        ],
        setSelect: [(selected) => zoomToSelection(selected, options)],
      },
    },
    dataOf(shaped, options),
    container,
  );
  plot.setScale('x', options.range);
  return {
    setData(next, range) {
      marks = next.marks;
      plot.batch(() => {
        plot.setData(dataOf(next, options), false);
        plot.setScale('x', range);
      });
    },
    setRange: (range) => plot.setScale('x', range),
    setSize: (size) => plot.setSize(size),
    moveCursor(x) {
      isFollowing = true;
      const left = x === null ? -10 : plot.valToPos(x, 'x');
      plot.setCursor({ left, top: x === null ? -10 : 0 });
      isFollowing = false;
    },
    destroy: () => plot.destroy(),
  };
}

function zoomToSelection(plot: uPlot, { onZoom }: PlotOptions): void {
  const { left, width } = plot.select;
  if (width >= DRAG_PX_MIN) {
    onZoom({ min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }
}

/** With smoothing, the measured values are drawn below the averages. */
function dataOf({ xs, columns, rawColumns }: ShapedCurves, { isSmoothed }: PlotOptions): uPlot.AlignedData {
  const all: readonly Column[] = isSmoothed ? [...rawColumns, ...columns] : columns;
  return [[...xs], ...all.map((column) => [...column])] as uPlot.AlignedData;
}

function seriesOf({ lines, isSmoothed }: PlotOptions, { series }: ChartColors): uPlot.Series[] {
  const lineOf = ({ color, isDashed }: PlotLine, isFaded: boolean): uPlot.Series => {
    const stroke = series[color % SERIES_COLOR_COUNT] ?? 'gray';
    return {
      stroke,
      width: isFaded ? 1 : 1.5,
      alpha: isFaded ? FADED : 1,
      dash: isDashed ? [5, 4] : [],
      spanGaps: false,
      points: isFaded ? { show: false } : { size: 5, width: 1.5, stroke, fill: stroke },
    };
  };
  return [...(isSmoothed ? lines.map((line) => lineOf(line, true)) : []), ...lines.map((line) => lineOf(line, false))];
}

function scalesOf({ axis, isLogarithmic, unit, range }: PlotOptions): uPlot.Scales {
  return {
    x: { time: axis === 'wall', auto: false, min: range.min, max: range.max },
    y: isLogarithmic
      ? { distr: 3, range: (_, min, max) => rangeOfLogarithm(min, max) }
      : { range: (_, min, max) => rangeOfValues(min, max, unit) },
  };
}

function rangeOfLogarithm(min: number | null, max: number | null): uPlot.Range.MinMax {
  return min === null || max === null ? [0.1, 1] : uPlot.rangeLog(min, max, 10, min === max);
}

/** Fractions and amounts begin at 0; a curve of other values fills the height. */
function rangeOfValues(min: number | null, max: number | null, unit: string): uPlot.Range.MinMax {
  if (min === null || max === null) {
    return [0, 1];
  }
  if (unit === 'fraction') {
    return [0, Math.max(1, max)];
  }
  const low = unit === '' || unit === 'celsius' ? min : Math.min(0, min);
  return low === max ? uPlot.rangeNum(low, max, 0.1, true) : [low - 0.04 * (max - low), max + 0.06 * (max - low)];
}

function axesOf({ axis, unit }: PlotOptions, colors: ChartColors): uPlot.Axis[] {
  const common = axisStyle(colors);
  const isDuration = axis === 'relative';
  return [
    {
      ...common,
      size: 26,
      gap: 6,
      space: 70,
      grid: { show: false },
      ...(axis === 'wall' ? {} : { values: (_, splits) => splits.map((at) => tickOfX(at, axis)) }),
      ...(isDuration && {
        splits: (...drawn: SplitsArguments) => splitDurations(drawn),
      }),
    },
    {
      ...common,
      size: Y_AXIS_PX,
      gap: 6,
      space: 34,
      ...(unit.startsWith('bytes') && { incrs: POWERS_OF_TWO }),
      values: (_, splits) => splits.map((value) => (value === null ? '' : formatTick(value, unit))),
    },
  ];
}

type SplitsArguments = [plot: uPlot, index: number, min: number, max: number, ...rest: number[]];

function splitDurations([plot, , min, max]: SplitsArguments): number[] {
  return durationSplits(min, max, Math.floor(plot.bbox.width / uPlot.pxRatio / 70));
}

function tickOfX(at: number, axis: XAxis): string {
  return axis === 'step' ? formatTick(at, '') : formatX(at, axis).replace(/^\+/, '');
}

/** A triangle at the lower edge for each value that is not finite. */
function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: ShapedCurves['marks'], color: string): void {
  const size = 5 * uPlot.pxRatio;
  ctx.save();
  ctx.fillStyle = color;
  for (const { x } of marks) {
    const left = valToPos(x, 'x', true);
    if (left >= bbox.left && left <= bbox.left + bbox.width) {
      const bottom = bbox.top + bbox.height;
      ctx.beginPath();
      ctx.moveTo(left, bottom - 1.7 * size);
      ctx.lineTo(left - size, bottom);
      ctx.lineTo(left + size, bottom);
      ctx.fill();
    }
  }
  ctx.restore();
}
