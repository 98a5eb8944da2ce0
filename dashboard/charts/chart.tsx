import { useMemo } from 'preact/hooks';
import type { ChartProps, XRange } from '#dashboard/charts/chart-links.ts';
import { seriesVariable } from '#dashboard/charts/colors.ts';
import { describeValues } from '#dashboard/charts/legend.ts';
import { type ShapedCurves, shapeCurves } from '#dashboard/charts/shape/shape-curves.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { useChartKeys } from '#dashboard/charts/use-chart-keys.ts';
import { usePlot } from '#dashboard/charts/use-plot.ts';
import { useStore } from '#dashboard/store/use-store.ts';

/** Curves on one pair of axes: the pointer reads values, dragging zooms, a double click shows everything again. */
export function Chart(props: ChartProps) {
  const { title, curves, axis, smoothing, isLogarithmic, hasGaps = false, links, height } = props;
  const zoom = useStore(links.zoom)[axis];
  const shaped = useMemo(
    () => shapeCurves(curves, { axis, smoothing, isLogarithmic, hasGaps }),
    [curves, axis, smoothing, isLogarithmic, hasGaps],
  );
  const shown = { props, shaped, range: zoom ?? props.domain ?? wholeRange(shaped) };
  const handle = usePlot(shown);
  const onKeyDown = useChartKeys(handle);
  const last = Math.max(0, shaped.xs.length - 1);
  return (
    <>
      <div
        ref={handle.area}
        class="plot"
        style={{ height: `${height}px` }}
        role="slider"
        tabIndex={0}
        aria-label={`${title} by ${AXIS_WORDS[axis]}`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={last}
        aria-valuetext={describeValues(shown, last)}
        onKeyDown={onKeyDown}
        onBlur={() => handle.point(null)}
      />
      <ul class="legend" ref={handle.legend}>
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

const AXIS_WORDS: Readonly<Record<XAxis, string>> = { step: 'step', relative: 'time', wall: 'time', cost: 'cost' };

function wholeRange({ xs }: ShapedCurves): XRange {
  const [min = 0, max = 1] = [xs[0], xs.at(-1)];
  return min === max ? { min: min - 1, max: max + 1 } : { min, max };
}
