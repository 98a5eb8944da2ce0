import { optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { trialOf, tuningOf, viewOf } from '../cli/test-cloud.ts';
import type { FixtureJob } from './fixture-api.ts';

const MINUTE = 60_000;

/** A search for one metric: 3 of 24 trials run, one failed, one was stopped early. */
export function exampleSearch(jobId: string, start: number): FixtureJob {
  const trials = Array.from({ length: 24 }, (_, index): TrialView => {
    const rate = 10 ** (-4 + 3.5 * spread(index));
    const hidden = 16 * (1 + Math.floor(8 * spread(index + 50)));
    const objective = 0.97 - 0.06 * (Math.log10(rate) + 2.2) ** 2 - 0.0003 * Math.abs(hidden - 96);
    const parameters = { learning_rate: rate, hidden, optimizer: spread(index + 90) > 0.5 ? 'sgd' : 'momentum' };
    const common = { ...ranAt(index, start), jobId: `${jobId}_trial_${index + 1}`, parameters };
    if (index === 5) {
      const reason = 'The loss is not a number: the program exited with code 1.';
      return trialOf('6', { ...common, state: 'INFEASIBLE', objective: null, reason });
    }
    return index >= 21
      ? trialOf(String(index + 1), { ...common, state: 'ACTIVE', endTime: null, objective: objective - 0.1 })
      : trialOf(String(index + 1), { ...common, objective, isTrialStoppedEarly: index === 9 });
  });
  const ended = trials.filter(({ state, objective }) => state === 'SUCCEEDED' && objective !== null);
  const best = ended.toSorted((a, b) => (b.objective ?? 0) - (a.objective ?? 0))[0] ?? null;
  const counts = { succeeded: 19, stoppedEarly: 1, infeasible: 1, failed: 0, lost: 0, running: 3 };
  return tuningJob(jobId, start, { tuning: tuningOf({ best, counts, endedTrialCount: 21 }), trials });
}

const GOALS = [
  { metricId: 'accuracy', goal: 'MAXIMIZE' },
  { metricId: 'latency_ms', goal: 'MINIMIZE' },
] as const;

/** A search for accuracy and latency, in which larger models are better and slower. */
export function exampleFront(jobId: string, start: number): FixtureJob {
  const trials = Array.from({ length: 40 }, (_, index): TrialView => {
    const [hidden, rate] = [8 + Math.floor(120 * spread(index)), 10 ** (-4 + 3 * spread(index + 70))];
    const accuracy = 0.99 - 0.25 * Math.exp(-hidden / 40) - 0.03 * spread(index + 30);
    const latency = 2 + hidden * 0.21 + 8 * spread(index + 130);
    const objectives = { accuracy, latency_ms: latency };
    const parameters = { hidden, learning_rate: rate, optimizer: spread(index + 11) > 0.5 ? 'sgd' : 'momentum' };
    const common = { ...ranAt(index, start), jobId: `${jobId}_trial_${index + 1}`, parameters };
    return index === 39
      ? trialOf('40', { ...common, state: 'ACTIVE', endTime: null, objective: null, objectives: {} })
      : trialOf(String(index + 1), { ...common, objective: accuracy, objectives });
  });
  const counts = { succeeded: 39, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0, running: 1 };
  const tuning = tuningOf({ objectives: [...GOALS], counts, endedTrialCount: 39 });
  const optimal = { count: optimalTrialsOf(trials, tuning).length, trials: [] };
  return tuningJob(jobId, start, { tuning: { ...tuning, optimal }, trials });
}

type TuningFacts = { readonly tuning: TuningView; readonly trials: readonly TrialView[] };

function tuningJob(jobId: string, start: number, { tuning, trials }: TuningFacts): FixtureJob {
  const view = viewOf(jobId, {
    state: 'RUNNING',
    createTime: new Date(start).toISOString(),
    startTime: new Date(start + MINUTE).toISOString(),
    endTime: null,
    placement: null,
    attempt: 0,
    tuning,
  });
  return { view, trials };
}

function ranAt(index: number, start: number): Pick<TrialView, 'startTime' | 'endTime'> {
  const at = start + index * MINUTE;
  return { startTime: new Date(at).toISOString(), endTime: new Date(at + 3 * MINUTE).toISOString() };
}

/** From 0 to 1, the same for the same number. */
function spread(seed: number): number {
  const value = Math.sin((seed + 1) * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
}
