import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { formatValue } from '#dashboard/format/format-number.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { describeParameters } from '#dashboard/screens/job/tuning/describe-parameters.ts';
import { type LineageTrial, type Population, populationOf } from '#dashboard/screens/job/tuning/lineage.ts';
import type { TrialView } from '#shared/protocol/report.ts';

type Props = {
  readonly trials: readonly TrialView[];
  readonly isBest: (trial: TrialView) => boolean;
};

/** The members of a population by generation: what each reached, and whom it copied. */
export function PopulationTable({ trials, isBest }: Props) {
  const population = populationOf(trials);
  return population === null ? null : (
    <section class="card population" aria-label="Generations">
      <header class="section-header">
        <h2>Generations</h2>
        <p class="muted">Each member goes on from its own last trial, or copies a better one and changes its values.</p>
      </header>
      <ScrollRegion class="population-scroll" label="Members by generation">
        <Generations population={population} isBest={isBest} />
      </ScrollRegion>
    </section>
  );
}

type TableProps = Pick<Props, 'isBest'> & { readonly population: Population };

function Generations({ population: { generations, members }, isBest }: TableProps) {
  return (
    <table class="table population-table">
      <thead>
        <tr>
          <th scope="col">Member</th>
          {generations.map((generation) => (
            <th key={generation} scope="col">
              Generation {generation}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {members.map(({ member, trials }) => (
          <tr key={member}>
            <th scope="row">{member}</th>
            {generations.map((generation) => (
              <td key={generation}>
                {(trials.get(generation) ?? []).map((one) => (
                  <MemberTrial key={one.trial.trialId} one={one} isBest={isBest(one.trial)} />
                ))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MemberTrial({ one: { trial, copied }, isBest }: { readonly one: LineageTrial; readonly isBest: boolean }) {
  const { trialId, jobId, state, objective } = trial;
  return (
    <div class={isBest ? 'member-trial row-best' : 'member-trial'} title={describeParameters(trial)}>
      <span class="strong">{objective === null ? '–' : formatValue(objective)}</span>{' '}
      <Link href={addressOfJob(jobId)}>trial {trialId}</Link>
      {isBest && <span class="tag tag-best">best</span>}
      {state !== 'SUCCEEDED' && <span class="muted"> {state.toLowerCase()}</span>}
      {copied !== null && (
        <span class="member-copied">
          copies trial {copied.trialId} of member {copied.member}
        </span>
      )}
    </div>
  );
}
