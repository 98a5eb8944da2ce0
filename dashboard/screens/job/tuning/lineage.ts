import type { TrialView } from '#shared/protocol/report.ts';

/** A trial of a population, and the trial of another member with whose files and values it started, if any. */
export type LineageTrial = {
  readonly trial: TrialView;
  readonly copied: { readonly trialId: string; readonly member: number } | null;
};

export type PopulationMember = {
  readonly member: number;
  /** By generation; several if a trial was lost and repeated. */
  readonly trials: ReadonlyMap<number, readonly LineageTrial[]>;
};

export type Population = { readonly generations: readonly number[]; readonly members: readonly PopulationMember[] };

/** The members of a population with their trials by generation; null if the trials are not those of one. */
export function populationOf(trials: readonly TrialView[]): Population | null {
  const byId = new Map(trials.map((trial) => [trial.trialId, trial]));
  const own = trials.flatMap((trial) =>
    trial.member === undefined || trial.generation === undefined
      ? []
      : [{ trial, member: trial.member, generation: trial.generation, copied: copiedFrom(trial, byId) }],
  );
  if (own.length === 0) {
    return null;
  }
  const ordered = own.toSorted((a, b) => Number(a.trial.trialId) - Number(b.trial.trialId));
  const members = [...Map.groupBy(ordered, ({ member }) => member)].sort(([a], [b]) => a - b);
  const last = Math.max(...own.map(({ generation }) => generation));
  return {
    generations: Array.from({ length: last }, (_, index) => index + 1),
    members: members.map(([member, rows]) => ({ member, trials: Map.groupBy(rows, ({ generation }) => generation) })),
  };
}

function copiedFrom({ parent, member }: TrialView, byId: ReadonlyMap<string, TrialView>): LineageTrial['copied'] {
  const source = parent == null ? undefined : byId.get(parent);
  return source?.member === undefined || source.member === member
    ? null
    : { trialId: source.trialId, member: source.member };
}
