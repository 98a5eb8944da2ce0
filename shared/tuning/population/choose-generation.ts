import type { Study } from '#shared/domain/study.ts';
import { createRandom, type Random } from '#shared/tuning/optimizer/random.ts';
import { type Costs, costsOfOutcome, dominates } from '#shared/tuning/pareto.ts';
import { draw, explore } from '#shared/tuning/population/explore.ts';
import type { Lineage, Trial, Values } from '#shared/tuning/trial.ts';

/** Truncation selection: members among the worst fifth go on from one of the best fifth (Jaderberg et al. 2017). */
const TRUNCATED_SHARE = 0.2;

export type GenerationRequest = {
  readonly study: Pick<Study, 'parameters' | 'metrics' | 'parallelTrialsMax'>;
  /** All trials of the tuning. */
  readonly trials: readonly Trial[];
  /** The ordinal of the first trial to choose values for. */
  readonly from: number;
  /** The tuning's id. */
  readonly seed: string;
};

export type ChosenTrial = { readonly values: Values; readonly lineage: Lineage };

/** A trial that has succeeded. */
type Result = { readonly trial: Trial; readonly lineage: Lineage; readonly costs: Costs };

/**
 * The next generations of members that have none under way: those without a trial first, then those whose last trial
 * has the lowest ordinal. A member goes on from its own outputs with the same values, unless it is among the worst or
 * its last trial did not succeed: then from the outputs of one of the best, with values near those. The same trials
 * lead to the same choice.
 */
export function chooseGeneration(request: GenerationRequest, count: number): readonly ChosenTrial[] {
  const { study, trials, from, seed } = request;
  const population = latestResultsOf(trials, study);
  return listFreeMembers(study.parallelTrialsMax, trials)
    .slice(0, count)
    .map(({ member, last }, index) =>
      chooseTrial({ member, last, population, study, random: createRandom(`${seed}/${from + index}/generation`) }),
    );
}

type FreeMember = { readonly member: number; readonly last: Trial | undefined };

function listFreeMembers(count: number, trials: readonly Trial[]): readonly FreeMember[] {
  const lasts = lastOfMembers(trials);
  return Array.from({ length: count }, (_, index) => ({ member: index + 1, last: lasts.get(index + 1) }))
    .filter(({ last }) => last === undefined || last.outcome !== null)
    .sort((a, b) => (a.last?.ordinal ?? 0) - (b.last?.ordinal ?? 0));
}

function lastOfMembers(trials: readonly Trial[]): ReadonlyMap<number, Trial> {
  const sorted = trials.toSorted((a, b) => a.ordinal - b.ordinal);
  return new Map(sorted.flatMap((trial) => (trial.lineage === undefined ? [] : [[trial.lineage.member, trial]])));
}

/** The last success of each member, best first: by the number of others that dominate it, then by the first objective. */
function latestResultsOf(trials: readonly Trial[], study: Pick<Study, 'metrics'>): readonly Result[] {
  const succeeded = trials.filter(({ outcome }) => outcome?.kind === 'SUCCEEDED');
  const results = [...lastOfMembers(succeeded).values()].flatMap((trial) => {
    const costs = costsOfOutcome(trial.outcome, study);
    return costs === undefined || trial.lineage === undefined ? [] : [{ trial, lineage: trial.lineage, costs }];
  });
  const rankOf = ({ costs }: Result) => results.filter((other) => dominates(other.costs, costs)).length;
  return results
    .map((result) => ({ result, rank: rankOf(result) }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        (a.result.costs[0] ?? 0) - (b.result.costs[0] ?? 0) ||
        a.result.trial.ordinal - b.result.trial.ordinal,
    )
    .map(({ result }) => result);
}

type Choice = FreeMember & {
  readonly population: readonly Result[];
  readonly study: GenerationRequest['study'];
  readonly random: Random;
};

function chooseTrial({ member, last, population, study, random }: Choice): ChosenTrial {
  const { parameters, parallelTrialsMax } = study;
  const truncated = countTruncated(population.length, parallelTrialsMax);
  const rank = population.findIndex(({ trial }) => trial.ordinal === last?.ordinal);
  const own = population[rank];
  if (own !== undefined && rank < population.length - truncated) {
    return { values: own.trial.values, lineage: childOf(own, member) };
  }
  const parent = population[Math.floor(random() * Math.max(1, truncated))];
  return last === undefined || parent === undefined
    ? { values: draw(parameters, random), lineage: { member, generation: 1, parent: null } }
    : { values: explore(parameters, parent.trial.values, random), lineage: childOf(parent, member) };
}

/** Of few results, none: the first ones have nothing to be compared with. A small population compares all of its members. */
function countTruncated(resultsCount: number, size: number): number {
  const isComplete = resultsCount === size && size > 1;
  return Math.max(Math.floor(resultsCount * TRUNCATED_SHARE), isComplete ? 1 : 0);
}

function childOf({ trial, lineage }: Result, member: number): Lineage {
  return { member, generation: lineage.generation + 1, parent: trial.ordinal };
}
