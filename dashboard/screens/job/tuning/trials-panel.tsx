import { useState } from 'preact/hooks';
import { type Column, type Order, sortRows } from '#dashboard/components/column.ts';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { Fact } from '#dashboard/components/fact.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfComparison, addressOfJob } from '#dashboard/navigation/route.ts';
import { FrontChart } from '#dashboard/screens/job/tuning/front-chart.tsx';
import { useTrials } from '#dashboard/screens/job/tuning/use-trials.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { listObjectives, objectiveValues, optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { describeStop } from '#shared/views/describe/describe-tuning.ts';

const COMPARED_MAX = 8;
const NO_TRIALS: readonly TrialView[] = [];

type Props = { readonly job: JobView; readonly tuning: TuningView };

/** The trials of a tuning: their values and what they reached, best first. */
export function TrialsPanel({ job, tuning }: Props) {
  const { trials: read, isCut, error, reload } = useTrials(job.jobId);
  const [order, setOrder] = useState<Order>({ by: 'objective', isDescending: tuning.goal === 'MAXIMIZE' });
  if (error !== null && read === undefined) {
    return <ErrorPanel error={error} onRetry={reload} />;
  }
  const all = read ?? NO_TRIALS;
  const names = [...new Set(all.flatMap(({ parameters }) => Object.keys(parameters)))];
  const optimal = new Set(optimalTrialsOf(all, tuning));
  const rankOf = (trial: TrialView) =>
    optimal.has(trial) ? 'optimal' : trial.trialId === tuning.best?.trialId ? 'best' : null;
  const rowClass = (trial: TrialView) => (rankOf(trial) === null ? '' : 'row-best');
  const columns = columnsOf({ tuning, names, rankOf });
  const trials = sortRows(all, columns, order);
  const best = trials.filter(({ objective }) => objective !== null).slice(0, COMPARED_MAX);
  return (
    <>
      <TuningSummary tuning={tuning} />
      <FrontChart {...{ tuning, trials: all }} />
      <section class="card table-scroll" aria-label="Trials">
        <header class="section-header">
          <h2>Trials</h2>
          {best.length > 1 && (
            <Link class="button" href={addressOfComparison(best.map(({ jobId }) => jobId))}>
              Compare the first {best.length}
            </Link>
          )}
        </header>
        {read !== undefined && trials.length === 0 ? (
          <EmptyState title="No trials yet" />
        ) : (
          <DataTable
            rows={trials}
            keyOf={({ trialId }) => trialId}
            {...{ columns, rowClass, order }}
            onOrder={setOrder}
          />
        )}
        {isCut && (
          <p class="muted">
            Shown are the first {all.length.toLocaleString('en-US')} trials. All of them:{' '}
            <code>dropforge trials {job.jobId}</code>
          </p>
        )}
      </section>
    </>
  );
}

function TuningSummary({ tuning }: Pick<Props, 'tuning'>) {
  const { counts, trialsMax, endedTrialCount } = tuning;
  const stop = describeStop(tuning);
  return (
    <dl class="facts card facts-card">
      <ResultFact tuning={tuning} />
      <Fact name="Trials ended">
        {endedTrialCount} of {trialsMax}
        <span class="fact-more">{counts.running} running</span>
      </Fact>
      <Fact name="Stopped early">{counts.stoppedEarly}</Fact>
      <Fact name="Failed">{counts.failed + counts.infeasible}</Fact>
      {stop !== null && <Fact name="Ended">{stop}</Fact>}
    </dl>
  );
}

/** The best value, or with several objectives the number of optimal trials. */
function ResultFact({ tuning: { best, optimal, objectives, metricId, goal } }: Pick<Props, 'tuning'>) {
  const describe = (of: Pick<TuningView, 'metricId' | 'goal'>) =>
    `${of.metricId} (${of.goal === 'MAXIMIZE' ? 'highest' : 'lowest'})`;
  return (
    <Fact
      name={
        optimal === null ? `Best ${describe({ metricId, goal })}` : `Optimal for ${objectives.map(describe).join(', ')}`
      }
    >
      {optimal?.count ?? (best?.objective == null ? '–' : formatValue(best.objective))}
      {best !== null && (
        <span class="fact-more">
          <Link href={addressOfJob(best.jobId)}>trial {best.trialId}</Link>
        </span>
      )}
    </Fact>
  );
}

type ColumnProps = {
  readonly tuning: TuningView;
  readonly names: readonly string[];
  readonly rankOf: (trial: TrialView) => 'best' | 'optimal' | null;
};

function columnsOf({ tuning, names, rankOf }: ColumnProps): readonly Column<TrialView>[] {
  return [
    {
      header: 'Trial',
      by: 'ordinal',
      value: ({ trialId }) => Number(trialId),
      class: 'trial-id',
      cell: (trial) => (
        <>
          <Link href={addressOfJob(trial.jobId)}>{trial.trialId}</Link>
          {rankOf(trial) !== null && <span class="tag tag-best">{rankOf(trial)}</span>}
        </>
      ),
    },
    {
      header: 'State',
      cell: ({ state, reason, isTrialStoppedEarly }) => (
        <span title={reason ?? undefined}>
          {state.toLowerCase()}
          {isTrialStoppedEarly && <span class="muted"> early</span>}
        </span>
      ),
    },
    ...listObjectives(tuning).map(({ metricId }, index) => ({
      header: metricId,
      by: index === 0 ? 'objective' : `objective ${metricId}`,
      value: (trial: TrialView) => objectiveValues(trial, tuning)[index],
      class: 'number strong',
      cell: (trial: TrialView) => showValue(objectiveValues(trial, tuning)[index] ?? null),
    })),
    ...names.map((name) => ({
      header: name,
      by: `parameter ${name}`,
      value: ({ parameters }: TrialView) => parameters[name],
      class: 'number user-text',
      cell: ({ parameters }: TrialView) => (parameters[name] === undefined ? '' : formatValue(parameters[name])),
    })),
    {
      header: 'Cost',
      by: 'cost',
      value: ({ costUsd }) => costUsd,
      class: 'number',
      cell: ({ costUsd }) => formatUsd(costUsd),
    },
  ];
}

function showValue(value: number | null): string {
  return value === null ? '–' : formatValue(value);
}
