import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Chart } from '#dashboard/charts/chart.tsx';
import type { ChartProps } from '#dashboard/charts/chart-links.ts';
import { useVisible } from '#dashboard/charts/use-visible.ts';
import { ValueTable } from '#dashboard/charts/value-table.tsx';
import type { ApiError } from '#dashboard/client/api-error.ts';

/** Space of the legend of a line or two below a chart that is not drawn yet. */
const LEGEND_PX = 30;

type Props = {
  readonly title: string;
  /** Beside the title: what was left out, and how many values are not finite. */
  readonly notes?: readonly string[];
  readonly actions?: ComponentChildren;
  readonly height: number;
  /** Called when the card is visible. */
  readonly children: (isTable: boolean) => ComponentChildren;
};

/** The frame of a chart. Its content exists only while it is near the window, so that hundreds of them cost nothing. */
export function ChartCard({ title, notes = [], actions, height, children }: Props) {
  const card = useRef<HTMLElement>(null);
  const isVisible = useVisible(card);
  const [isTable, setTable] = useState(false);
  return (
    <section
      ref={card}
      class="card chart-card"
      aria-label={title}
      style={{ minHeight: `${height + LEGEND_PX + 40}px` }}
    >
      <header class="chart-header">
        <h3 class="chart-title user-text" title={title}>
          {title}
        </h3>
        {notes.map((note) => (
          <span key={note} class="chart-note">
            {note}
          </span>
        ))}
        <span class="chart-actions">
          {actions}
          <button
            type="button"
            class="chip"
            aria-pressed={isTable}
            aria-label={`${title}: ${isTable ? 'chart' : 'table'}`}
            onClick={() => setTable(!isTable)}
          >
            {isTable ? 'Chart' : 'Table'}
          </button>
        </span>
      </header>
      {isVisible && children(isTable)}
    </section>
  );
}

type ContentProps = ChartProps & {
  readonly isTable: boolean;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
};

/** The chart or its table; before there is data, why there is none. */
export function ChartContent({ isTable, error, isLoading, ...chart }: ContentProps) {
  if (chart.curves.length === 0) {
    return (
      <p
        class="chart-empty"
        style={{ height: `${chart.height + LEGEND_PX}px` }}
        role={error === null ? undefined : 'alert'}
      >
        {error === null ? (isLoading ? '' : 'No points yet.') : `${error.message} ${error.remedy}`}
      </p>
    );
  }
  return isTable ? <ValueTable {...chart} /> : <Chart {...chart} />;
}
