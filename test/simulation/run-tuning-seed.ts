import { AssertionError } from 'node:assert/strict';
import { priceOfJob } from '#shared/catalog/job-price.ts';
import { classOf } from '#shared/domain/cause.ts';
import { type JobIn, MASTER } from '#shared/domain/job.ts';
import { objectiveMetricOf, type Study } from '#shared/domain/study.ts';
import { causeOfOutcome } from '#shared/tuning/rules/count-trial.ts';
import type { Trial, TrialOutcome } from '#shared/tuning/trial.ts';
import type { TuningIn } from '#shared/tuning/tuning.ts';
import { checkRest, FAULTY_STEPS, hasFoundSuccess, rest, type World } from './run-seed.ts';
import { attemptOf } from './simulated-control-plane.ts';
import { drawStudy, measurementsOf } from './simulated-trial.ts';
import { createWorld } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

const HOUR_MS = 3_600_000;

/** Limit on simulated time until all trials have ended once faults have stopped. */
const CALM_MS_MAX = 24 * HOUR_MS;

const TUNING_IDS = ['first', 'second'] as const;

export type TuningRun = {
  /** The violated guarantees. */
  readonly broken: readonly string[];
  readonly tunings: readonly TuningIn<'CLOSED'>[];
  /** The longest time from the end of a trial's job until its tuning counted it. */
  readonly reportMsMax: number;
};

type Options = {
  readonly without?: readonly Mechanism[];
  readonly hasFaults?: boolean;
  /** See `SchedulerOptions`: how fast port calls are. */
  readonly stepMsMax?: number;
  readonly reorderMsMax?: number;
};

/** Runs two tunings of one seed, with faults for a while and then without until both are closed. */
export async function runTuningSeed(
  seed: number,
  { without = [], hasFaults = true, stepMsMax = 60_000, reorderMsMax = Number.POSITIVE_INFINITY }: Options = {},
): Promise<TuningRun> {
  const world = createWorld(seed, without, { hasTunings: true, stepMsMax, reorderMsMax });
  const { prng } = world;
  const cancelled = new Set<string>();
  const studies = new Map(TUNING_IDS.map((tuningId) => [tuningId, drawStudy(prng)]));
  for (const [tuningId, study] of studies) {
    await world.submitTuning(tuningId, study);
    for (const jobId of [tuningId, `${tuningId}_trial_1`]) {
      if (hasFaults && prng.chance(0.15)) {
        cancelled.add(jobId);
        world.cancelLater(jobId, prng.integer(2 * HOUR_MS));
      }
    }
  }
  if (!hasFaults) {
    world.stopFaults();
  }
  try {
    for (let step = 0; hasFaults && step < FAULTY_STEPS; step += 1) {
      await world.step();
    }
    world.stopFaults();
    await rest(world, CALM_MS_MAX);
    const problems = await checkRest(world);
    const results = await Promise.all(TUNING_IDS.map((tuningId) => checkTuning(world, { tuningId, cancelled })));
    return {
      broken: [...problems, ...results.flatMap(({ broken }) => broken)],
      tunings: results.flatMap(({ tuning }) => tuning ?? []),
      reportMsMax: Math.max(0, ...world.trials.reportDelays),
    };
  } catch (error) {
    if (error instanceof AssertionError) {
      return { broken: [error.message], tunings: [], reportMsMax: 0 };
    }
    throw error;
  } finally {
    world.close();
  }
}

type Checked = { readonly broken: readonly string[]; readonly tuning?: TuningIn<'CLOSED'> };

async function checkTuning(
  world: World,
  { tuningId, cancelled }: { readonly tuningId: string; readonly cancelled: ReadonlySet<string> },
): Promise<Checked> {
  const tuning = (await world.tunings.read(tuningId))?.record;
  if (tuning?.status !== 'CLOSED') {
    return { broken: [`tuning ${tuningId} never ended: ${tuning?.status}`] };
  }
  const trials = await world.tunings.listTrials(tuningId, { afterOrdinal: 0, countMax: 500 });
  const broken: string[] = [];
  for (const trial of trials) {
    const problem = await checkTrial(world, trial, tuning.study);
    broken.push(...(problem === null ? [] : [`trial ${trial.ordinal} of ${tuningId} ${problem}`]));
  }
  broken.push(...checkCounts(tuning, trials), ...checkValues(tuning, trials));
  const { state } = tuning.verdict;
  if (state === 'CANCELLED' && !cancelled.has(tuningId)) {
    broken.push(`tuning ${tuningId} was CANCELLED without a request`);
  }
  return { broken, tuning };
}

/** Finds what is wrong with the outcome of a trial, given how its job ended and what its program does. */
async function checkTrial(world: World, trial: Trial, study: Study): Promise<string | null> {
  const { outcome, jobId, costUsd } = trial;
  const job = (await world.jobs.read(jobId))?.record;
  if (outcome === null || job?.status !== 'CLOSED') {
    return `has the outcome ${outcome?.kind}, and its job is ${job?.status}`;
  }
  if (costUsd !== priceOfJob(job, world.now()).totalUsd) {
    return `costs ${costUsd}, and its job ${priceOfJob(job, world.now()).totalUsd}`;
  }
  const expected = expectedOutcome(world, job, study);
  const actual = outcome.kind === 'SUCCEEDED' ? outcome.objective : outcome.kind;
  return expected.includes(actual) ? null : `ended as ${actual} instead of ${expected.join(' or ')}`;
}

/** The objective of a trial that succeeded, or the kind of its outcome. Several if it was stopped at any of its steps. */
function expectedOutcome(world: World, job: JobIn<'CLOSED'>, study: Study): readonly (number | TrialOutcome['kind'])[] {
  const { state, cause, isStoppedEarly } = job.verdict;
  if (state !== 'SUCCEEDED') {
    const isOwn = state === 'FAILED' && cause !== null && ['user', 'configuration'].includes(classOf(cause));
    return [isOwn ? 'FAILED' : 'LOST'];
  }
  const program = world.trials.programOf(job.jobId);
  const values = program === undefined ? [] : measurementsOf(program, STEPS_MAX);
  const accuracies = values.map(({ accuracy }) => accuracy);
  // Measurements of the last heartbeats may be lost with the VM.
  if (isStoppedEarly || hasFoundSuccess(job)) {
    return [...accuracies.filter((accuracy) => typeof accuracy === 'number'), 'LOST', 'INFEASIBLE'];
  }
  if (!world.finished.has(`${attemptOf(job)}/${MASTER}/0`)) {
    return [];
  }
  const reported = accuracies.slice(0, world.stepsOf.get(attemptOf(job)) ?? 0);
  const numbers = reported.filter((accuracy) => typeof accuracy === 'number');
  const counted = study.measurement === 'LAST' ? reported.at(-1) : bestOf(numbers, study);
  return [typeof counted === 'number' ? counted : 'INFEASIBLE'];
}

const STEPS_MAX = 20;

function bestOf(objectives: readonly number[], study: Study): number | undefined {
  const sign = objectiveMetricOf(study).goal === 'MAXIMIZE' ? -1 : 1;
  return objectives.toSorted((a, b) => sign * (a - b))[0];
}

function checkCounts(tuning: TuningIn<'CLOSED'>, trials: readonly Trial[]): readonly string[] {
  const { tuningId, counts, best, study, spentUsd, verdict, stopReason } = tuning;
  const count = (kind: TrialOutcome['kind']) => trials.filter(({ outcome }) => outcome?.kind === kind).length;
  const expected = [count('SUCCEEDED'), count('INFEASIBLE'), count('FAILED'), count('LOST')];
  const counted = [counts.succeeded, counts.infeasible, counts.failed, counts.lost];
  const objectives = trials.flatMap(({ outcome }) => (outcome?.kind === 'SUCCEEDED' ? outcome.objective : []));
  const spent = trials.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const suggested = trials.filter(({ repeats }) => repeats === null).length;
  const isWhole = verdict.state !== 'SUCCEEDED' || stopReason !== null || suggested === study.trialsMax;
  const causes = trials.flatMap(({ outcome }) =>
    outcome === null || outcome.kind === 'SUCCEEDED' ? [] : causeOfOutcome(outcome).code,
  );
  const isExplained =
    verdict.state !== 'FAILED' || [...causes, 'NO_TRIAL_SUCCEEDED'].includes(verdict.cause?.code ?? '');
  return [
    ...(String(counted) === String(expected) ? [] : [`${tuningId} counts ${counted} instead of ${expected}`]),
    ...(best?.objective === bestOf(objectives, study) ? [] : [`${tuningId} has the best ${best?.objective}`]),
    ...(Math.abs(spentUsd - spent) < 1e-9 ? [] : [`${tuningId} costs ${spentUsd} instead of ${spent}`]),
    ...(isWhole ? [] : [`${tuningId} ended after ${suggested} of ${study.trialsMax} trials`]),
    ...(isExplained ? [] : [`${tuningId} failed for ${verdict.cause?.code}, as none of its trials did`]),
    ...(suggested <= study.trialsMax ? [] : [`${tuningId} has ${suggested} trials`]),
  ];
}

/** No values are tried twice, except for those of lost trials. */
function checkValues({ tuningId }: TuningIn<'CLOSED'>, trials: readonly Trial[]): readonly string[] {
  const byValues = Map.groupBy(trials, ({ values }) => JSON.stringify(values));
  return [...byValues].flatMap(([values, tried]) => {
    const suggested = tried.filter(({ repeats }) => repeats === null).length;
    const counted = tried.filter(({ outcome }) => outcome?.kind !== 'LOST').length;
    return suggested > 1 || counted > 1 ? [`${tuningId} tried ${values} ${suggested} times`] : [];
  });
}
