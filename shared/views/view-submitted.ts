import type { TimestampMs } from '#shared/domain/job.ts';
import { isMultiObjective, objectiveMetricOf } from '#shared/domain/study.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { Submitted } from '#shared/ports/read-submitted.ts';
import { finishedOf, listAllTrials } from '#shared/ports/read-trials.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { CurveStore, TuningStore } from '#shared/ports/tuning-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { chooseBest } from '#shared/tuning/optimizer/choose-best.ts';
import type { Curve, Trial } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { viewJob } from '#shared/views/job-view.ts';
import { viewTrial } from '#shared/views/trial-view.ts';
import { viewGoals, viewTuning } from '#shared/views/tuning-view.ts';

export type ViewPorts = {
  readonly jobs: JobStore;
  readonly replicas: ReplicaStore;
  readonly tunings: TuningStore;
  readonly curves: CurveStore;
};

/** A job or a tuning, with what its view shows besides. */
export async function viewSubmitted(ports: ViewPorts, submitted: Submitted, now: TimestampMs): Promise<JobView> {
  return 'tuningId' in submitted
    ? readTuningView(ports, submitted, now)
    : viewJob(submitted, await ports.replicas.listByAttempt(submitted), now);
}

/** Limit on the trials of a tuning that has a recommendation: each of them is read and compared. */
const RECOMMENDED_OF_MAX = 2_000;

/** Reads what a tuning's view shows besides the tuning: its best or optimal trials, and the jobs of those that run. */
async function readTuningView(ports: ViewPorts, tuning: Tuning, now: TimestampMs): Promise<JobView> {
  const [best, optimal, recommended, ...jobs] = await Promise.all([
    readBest(ports, tuning, now),
    readOptimal(ports, tuning, now),
    readRecommended(ports, tuning, now),
    ...tuning.running.map(async ({ jobId }) => (await ports.jobs.read(jobId))?.record),
  ]);
  return viewTuning(tuning, { best, optimal, recommended, jobs: jobs.filter((job) => job !== undefined), now });
}

/** A job of a list with more VMs is listed without its replicas. */
const LISTED_REPLICAS_MAX = 16;

export type ListOptions = {
  readonly now: TimestampMs;
  /** Whether to read the replicas of jobs, with their progress. */
  readonly hasProgress: boolean;
};

/** A job or a tuning as an entry of a list: without the jobs of running trials, and by default without replicas. */
export async function viewListed(
  ports: ViewPorts,
  submitted: Submitted,
  { now, hasProgress }: ListOptions,
): Promise<JobView> {
  if ('tuningId' in submitted) {
    return viewTuning(submitted, { best: await readBest(ports, submitted, now), jobs: [], now });
  }
  const { spec } = submitted;
  const replicaCount = spec.replicaGroups.reduce((sum, { count }) => sum + count, 0);
  const isRead = hasProgress && replicaCount <= LISTED_REPLICAS_MAX;
  return viewJob(submitted, isRead ? await ports.replicas.listByAttempt(submitted) : [], now);
}

async function readBest(
  { tunings }: ViewPorts,
  { tuningId, best, study }: Tuning,
  now: TimestampMs,
): Promise<TrialView | null> {
  const trial = best === null || isMultiObjective(study) ? undefined : await tunings.readTrial(tuningId, best.ordinal);
  return trial === undefined ? null : viewTrial(trial, { study, now });
}

/** Limit on the optimal trials that a view shows; the list of trials has the others. */
const OPTIMAL_SHOWN_MAX = 50;

async function readOptimal({ tunings }: ViewPorts, tuning: Tuning, now: TimestampMs): Promise<readonly TrialView[]> {
  const { tuningId, study, counts } = tuning;
  if (!isMultiObjective(study) || counts.succeeded === 0) {
    return [];
  }
  const trials = (await listAllTrials(tunings, tuningId)).map((trial) => viewTrial(trial, { study, now }));
  return optimalTrialsOf(trials, viewGoals(study)).slice(0, OPTIMAL_SHOWN_MAX);
}

async function readRecommended(
  { tunings }: ViewPorts,
  { status, tuningId, study, counts, best, lastOrdinal }: Tuning,
  now: TimestampMs,
): Promise<TuningView['recommended']> {
  if (status !== 'CLOSED' || isMultiObjective(study) || counts.succeeded < 2 || lastOrdinal > RECOMMENDED_OF_MAX) {
    return null;
  }
  const trials = (await listAllTrials(tunings, tuningId)).filter((trial) => finishedOf(trial) !== undefined);
  const finished = trials.flatMap((trial) => finishedOf(trial) ?? []);
  const { parameters } = study;
  const chosen = chooseBest({ parameters, goal: objectiveMetricOf(study).goal, finished });
  const trial = chosen === null ? undefined : trials[chosen.recommended];
  return chosen === null || trial === undefined || trial.ordinal === best?.ordinal
    ? null
    : { trial: viewTrial(trial, { study, now }), expectedObjective: chosen.expected };
}

/** Reads what the views of trials show besides their records: jobs and last measurements of those that run. */
export async function readTrialViews(
  ports: ViewPorts,
  { tuning, trials }: { readonly tuning: Tuning; readonly trials: readonly Trial[] },
  now: TimestampMs,
): Promise<readonly TrialView[]> {
  const { tuningId, study } = tuning;
  const open = trials.filter(({ outcome }) => outcome === null);
  const curves = await ports.curves.readMany(
    tuningId,
    open.map(({ ordinal }) => ordinal),
  );
  return Promise.all(
    trials.map(async (trial) => {
      if (trial.outcome !== null) {
        return viewTrial(trial, { study, now });
      }
      const { ordinal, jobId } = trial;
      const running = tuning.running.find((one) => one.ordinal === ordinal);
      const job = (await ports.jobs.read(jobId))?.record;
      return viewTrial(trial, { study, running, job, last: lastOf(curves, ordinal), now });
    }),
  );
}

function lastOf(curves: readonly Curve[], ordinal: number) {
  return curves.find((curve) => curve.ordinal === ordinal)?.points.at(-1);
}
