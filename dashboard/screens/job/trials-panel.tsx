import { useState } from 'preact/hooks';
import { useResource } from '#dashboard/client/use-resource.ts';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { formatUsd, formatValue } from '#dashboard/format/format-number.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfComparison, addressOfJob } from '#dashboard/navigation/route.ts';
import { sortTrials, type TrialOrder } from '#dashboard/screens/job/sort-trials.ts';
import type { JobView, TrialView, TuningView } from '#shared/protocol/report.ts';

const COMPARED_MAX = 8;

type Props = { readonly job: JobView; readonly tuning: TuningView };

/** The trials of a tuning: their values and what they reached, best first. */
export function TrialsPanel({ job, tuning }: Props) {
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}/trials?pageSize=500`;
  const { data, error, reload } = useResource<{ readonly trials: readonly TrialView[] }>(path, [job.jobId]);
  const [order, setOrder] = useState<TrialOrder>({ by: 'objective', isDescending: tuning.goal === 'MAXIMIZE' });
  if (error !== null && data === undefined) {
    return <ErrorPanel error={error} onRetry={reload} />;
  }
  const trials = sortTrials(data?.trials ?? [], order);
  const names = [...new Set(trials.flatMap(({ parameters }) => Object.keys(parameters)))];
  const best = trials.filter(({ objective }) => objective !== null).slice(0, COMPARED_MAX);
  const header = (by: string, label: string) => <SortHeader key={by} {...{ by, label, order }} onOrder={setOrder} />;
  return (
    <>
      <TuningSummary tuning={tuning} />
      <section class="card table-scroll" aria-label="Trials">
        <header class="section-header">
          <h2>Trials</h2>
          {best.length > 1 && (
            <Link class="button" href={addressOfComparison(best.map(({ jobId }) => jobId))}>
              Compare the first {best.length}
            </Link>
          )}
        </header>
        {data !== undefined && trials.length === 0 ? (
          <EmptyState title="No trials yet" />
        ) : (
          <table class="table">
            <thead>
              <tr>
                {header('ordinal', 'Trial')}
                <th scope="col">State</th>
                {header('objective', tuning.metricId)}
                {names.map((name) => header(`parameter ${name}`, name))}
                {header('cost', 'Cost')}
              </tr>
            </thead>
            <tbody>
              {trials.map((trial) => (
                <TrialRow key={trial.trialId} {...{ trial, names }} isBest={trial.trialId === tuning.best?.trialId} />
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  );
}

function TuningSummary({ tuning }: Pick<Props, 'tuning'>) {
  const { best, counts, trialsMax, endedTrialCount, metricId, goal, stopReason } = tuning;
  return (
    <dl class="facts card facts-card">
      <div class="fact">
        <dt>
          Best {metricId} ({goal === 'MAXIMIZE' ? 'highest' : 'lowest'})
        </dt>
        <dd>{best?.objective === null || best === null ? '–' : formatValue(best.objective)}</dd>
      </div>
      <div class="fact">
        <dt>Trials ended</dt>
        <dd>
          {endedTrialCount} of {trialsMax}
          <span class="fact-more">{counts.running} running</span>
        </dd>
      </div>
      <div class="fact">
        <dt>Stopped early</dt>
        <dd>{counts.stoppedEarly}</dd>
      </div>
      <div class="fact">
        <dt>Failed</dt>
        <dd>{counts.failed + counts.infeasible}</dd>
      </div>
      {stopReason !== null && (
        <div class="fact">
          <dt>Ended</dt>
          <dd class="user-text">{stopReason}</dd>
        </div>
      )}
    </dl>
  );
}

type SortProps = {
  readonly by: string;
  readonly label: string;
  readonly order: TrialOrder;
  readonly onOrder: (order: TrialOrder) => void;
};

function SortHeader({ by, label, order, onOrder }: SortProps) {
  const isSorted = order.by === by;
  return (
    <th scope="col" class="number" aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        class="text-button user-text"
        onClick={() => onOrder({ by, isDescending: isSorted ? !order.isDescending : false })}
      >
        {label}
        {isSorted && (order.isDescending ? ' ↓' : ' ↑')}
      </button>
    </th>
  );
}

type RowProps = { readonly trial: TrialView; readonly names: readonly string[]; readonly isBest: boolean };

function TrialRow({ trial, names, isBest }: RowProps) {
  const { trialId, jobId, state, objective, parameters, costUsd, isTrialStoppedEarly, reason } = trial;
  return (
    <tr class={isBest ? 'row-best' : ''}>
      <td class="number">
        <Link href={addressOfJob(jobId)}>{trialId}</Link>
        {isBest && <span class="tag tag-best">best</span>}
      </td>
      <td title={reason ?? undefined}>
        {state.toLowerCase()}
        {isTrialStoppedEarly && <span class="muted"> early</span>}
      </td>
      <td class="number strong">{objective === null ? '–' : formatValue(objective)}</td>
      {names.map((name) => (
        <td key={name} class="number user-text">
          {parameters[name] === undefined ? '' : formatValue(parameters[name])}
        </td>
      ))}
      <td class="number">{formatUsd(costUsd)}</td>
    </tr>
  );
}
