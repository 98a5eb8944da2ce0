import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { seriesVariable, themeChanges } from '#dashboard/charts/colors.ts';
import { createScatterPlot, type ScatterPlot } from '#dashboard/charts/scatter-plot.ts';
import { navigate } from '#dashboard/navigation/location.ts';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import type { FrontAxes, FrontPoint } from '#dashboard/screens/job/tuning/front-points.ts';
import { useStore } from '#dashboard/store/use-store.ts';
import { formatParameters, formatValue } from '#shared/text/format-number.ts';

type Props = {
  readonly points: readonly FrontPoint[];
  readonly axes: FrontAxes;
  readonly hasLine: boolean;
  readonly height: number;
};

/** The pointer or the arrow keys name a trial; a click or Enter opens its job. */
export function FrontPlot({ points, axes, hasLine, height }: Props) {
  const [pointed, setPointed] = useState<number | null>(null);
  const hintId = useId();
  const open = (index: number) => {
    const trial = points[index]?.trial;
    if (trial !== undefined) {
      navigate(addressOfJob(trial.jobId));
    }
  };
  const { area, mark } = useScatter({ points, axes, hasLine, height }, { onPoint: setPointed, onOpen: open });
  mark(pointed);
  const last = points.length - 1;
  const position = Math.min(last, pointed ?? last);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moveWithKey(event.key, pointed, last);
    if (next !== null) {
      setPointed(next);
    } else if (event.key === 'Enter' && pointed !== null) {
      open(pointed);
    } else {
      return;
    }
    event.preventDefault();
  };
  const shown = pointed === null ? undefined : points[pointed];
  return (
    <>
      <div
        ref={area}
        class="plot"
        style={{ height: `${height}px` }}
        role="slider"
        tabIndex={0}
        aria-label={`Trials by ${axes.x} and ${axes.y}`}
        aria-describedby={hintId}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={position}
        aria-valuetext={describePoint(points[position], axes)}
        onKeyDown={onKeyDown}
        onBlur={() => setPointed(null)}
      />
      <p class="front-caption">
        {shown === undefined ? <Counts points={points} /> : <span class="user-text">{describePoint(shown, axes)}</span>}
        <span id={hintId}>Point at a trial for its parameters; click it, or press Enter, for its job.</span>
      </p>
    </>
  );
}

function Counts({ points }: Pick<Props, 'points'>) {
  const optimal = points.filter(({ isOptimal }) => isOptimal).length;
  return (
    <span>
      <span class="front-dot" style={{ color: `var(${seriesVariable(0)})` }} aria-hidden="true" /> {optimal} optimal{' '}
      <span class="front-dot front-dot-faint" aria-hidden="true" /> {points.length - optimal} dominated by another trial
    </span>
  );
}

function describePoint(point: FrontPoint | undefined, axes: FrontAxes): string {
  if (point === undefined) {
    return 'no trials';
  }
  const { trial, x, y, isOptimal } = point;
  const values = `${axes.y} ${formatValue(y)}, ${axes.x} ${formatValue(x)}`;
  return `Trial ${trial.trialId}${isOptimal ? ', optimal' : ''}: ${values}; ${formatParameters(trial.parameters)}`;
}

/** The index after a key; null if the key moves nothing. */
function moveWithKey(key: string, from: number | null, last: number): number | null {
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: from === null ? last : from - 1,
    ArrowRight: from === null ? 0 : from + 1,
    Home: 0,
    End: last,
  };
  const target = targets[key];
  return target === undefined ? null : Math.max(0, Math.min(last, target));
}

type Handlers = { readonly onPoint: (index: number | null) => void; readonly onOpen: (index: number) => void };

function useScatter({ points, axes, hasLine, height }: Props, handlers: Handlers) {
  const area = useRef<HTMLDivElement>(null);
  const plot = useRef<ScatterPlot | null>(null);
  const latest = useRef(handlers);
  latest.current = handlers;
  const theme = useStore(themeChanges);
  useLayoutEffect(() => {
    const container = area.current;
    if (container === null) {
      return;
    }
    const size = () => ({ width: Math.max(120, container.clientWidth), height });
    const created = createScatterPlot(container, {
      points: points.map(({ x, y, isOptimal }) => ({ x, y, isEmphasized: isOptimal })),
      ...{ names: axes, hasLine, size: size() },
      onPoint: (index) => latest.current.onPoint(index),
      onOpen: (index) => latest.current.onOpen(index),
    });
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize(size()));
    observer.observe(container);
    return () => {
      observer.disconnect();
      plot.current = null;
      created.destroy();
    };
  }, [points, axes.x, axes.y, hasLine, height, theme]);
  return { area, mark: (index: number | null) => plot.current?.mark(index) };
}
