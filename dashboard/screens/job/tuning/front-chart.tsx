import { useMemo, useState } from 'preact/hooks';
import { ChartCard } from '#dashboard/charts/chart-card.tsx';
import type { Column } from '#dashboard/components/column.ts';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { FrontPlot } from '#dashboard/screens/job/tuning/front-plot.tsx';
import {
  defaultAxes,
  type FrontAxes,
  type FrontPoint,
  frontPoints,
} from '#dashboard/screens/job/tuning/front-points.ts';
import { listObjectives } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatParameters, formatValue } from '#shared/text/format-number.ts';

const HEIGHT_PX = 320;

type Props = { readonly tuning: TuningView; readonly trials: readonly TrialView[] };

/** The trials of a tuning with several objectives, in the plane of two of them. */
export function FrontChart({ tuning, trials }: Props) {
  const [chosen, setChosen] = useState<FrontAxes | null>(null);
  const axes = chosen ?? defaultAxes(tuning);
  const points = useMemo(
    () => (axes === null ? [] : frontPoints(trials, tuning, axes)),
    [trials, tuning, axes?.x, axes?.y],
  );
  if (axes === null || points.length === 0) {
    return null;
  }
  const metrics = listObjectives(tuning).map(({ metricId }) => metricId);
  return (
    <section>
      <h2 class="visually-hidden">Objectives</h2>
      <ChartCard
        title="Pareto front"
        height={HEIGHT_PX}
        actions={metrics.length > 2 && <AxisChoice {...{ metrics, axes }} onChoose={setChosen} />}
      >
        {(isTable) =>
          isTable ? (
            <FrontTable {...{ points, axes }} />
          ) : (
            // The front of more than two objectives is not a line in the plane of two of them.
            <FrontPlot {...{ points, axes }} hasLine={metrics.length === 2} height={HEIGHT_PX} />
          )
        }
      </ChartCard>
    </section>
  );
}

type ChoiceProps = {
  readonly metrics: readonly string[];
  readonly axes: FrontAxes;
  readonly onChoose: (axes: FrontAxes) => void;
};

function AxisChoice({ metrics, axes, onChoose }: ChoiceProps) {
  return (
    <>
      {(['x', 'y'] as const).map((axis) => (
        <select
          key={axis}
          class="select"
          aria-label={axis === 'x' ? 'Horizontal axis' : 'Vertical axis'}
          value={axes[axis]}
          onChange={(event) => onChoose({ ...axes, [axis]: event.currentTarget.value })}
        >
          {metrics.map((metric) => (
            <option key={metric}>{metric}</option>
          ))}
        </select>
      ))}
    </>
  );
}

function FrontTable({ points, axes }: { readonly points: readonly FrontPoint[]; readonly axes: FrontAxes }) {
  const columns: readonly Column<FrontPoint>[] = [
    {
      header: 'Trial',
      class: 'trial-id',
      cell: ({ trial, isOptimal }) => (
        <>
          <Link href={addressOfJob(trial.jobId)}>{trial.trialId}</Link>
          {isOptimal && <span class="tag tag-best">optimal</span>}
        </>
      ),
    },
    { header: axes.x, class: 'number user-text', cell: ({ x }) => formatValue(x) },
    { header: axes.y, class: 'number user-text', cell: ({ y }) => formatValue(y) },
    { header: 'Parameters', class: 'user-text', cell: ({ trial }) => formatParameters(trial.parameters) },
  ];
  const rowClass = ({ isOptimal }: FrontPoint) => (isOptimal ? 'row-best' : '');
  return (
    <ScrollRegion class="value-table" label="Pareto front: values">
      <DataTable rows={points} keyOf={({ trial }) => trial.trialId} {...{ columns, rowClass }} />
    </ScrollRegion>
  );
}
