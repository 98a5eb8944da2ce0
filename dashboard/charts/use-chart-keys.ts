import { useRef } from 'preact/hooks';
import { setZoom } from '#dashboard/charts/chart-links.ts';
import { describeValues } from '#dashboard/charts/legend.ts';
import type { PlotHandle } from '#dashboard/charts/use-plot.ts';

/** Left and right move the cursor, with Shift by a tenth; + and - zoom around it, Escape shows everything. */
export function useChartKeys({ latest, moveTo }: PlotHandle) {
  const position = useRef<number | null>(null);
  return (event: KeyboardEvent) => {
    const { shaped, range, props } = latest.current;
    const last = shaped.xs.length - 1;
    const at = Math.min(last, position.current ?? last);
    const stride = event.shiftKey ? Math.max(1, Math.round(shaped.xs.length / 10)) : 1;
    const targets: Readonly<Record<string, number>> = {
      ArrowLeft: at - stride,
      ArrowRight: at + stride,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target !== undefined && last >= 0) {
      position.current = Math.max(0, Math.min(last, target));
      moveTo(position.current);
      const slider = event.currentTarget as HTMLElement;
      slider.setAttribute('aria-valuenow', String(position.current));
      slider.setAttribute('aria-valuetext', describeValues(latest.current, position.current));
    } else if (event.key === '+' || event.key === '-') {
      const center = shaped.xs[at] ?? range.min;
      const half = ((range.max - range.min) / 2) * (event.key === '+' ? 0.5 : 2);
      setZoom(props.links, props.axis, { min: center - half, max: center + half });
    } else if (event.key === 'Escape') {
      setZoom(props.links, props.axis, null);
    } else {
      return;
    }
    event.preventDefault();
  };
}
