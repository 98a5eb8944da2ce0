import assert from 'node:assert/strict';
import type { Job } from '#shared/domain/job.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { programOf, type TrialProgram } from './simulated-trial.ts';

/**
 * The facts that the world has seen of tunings, their trials and the jobs of these, independent of the stores. Asserts
 * after every commit what must hold at any time.
 */
export function createTrialRecords(now: () => number) {
  const trials = new Map<string, Trial>();
  const programs = new Map<string, TrialProgram>();
  const parallelMax = new Map<string, number>();
  /** Jobs of trials that are not closed, by tuning. */
  const openJobs = new Map<string, ReadonlySet<string>>();
  const closedAt = new Map<string, number>();
  /** From the end of each trial's job until its tuning counted it, in milliseconds. */
  const reportDelays: number[] = [];

  function recordTrial(trial: Trial): void {
    const { tuningId, ordinal, values, outcome, jobId } = trial;
    const name = `trial ${ordinal} of ${tuningId}`;
    const known = trials.get(jobId);
    assert(known === undefined || known.outcome === null, `${name} was counted twice`);
    assert(known === undefined || outcome !== null, `${name} was created twice`);
    assert(known !== undefined || outcome === null, `${name} ended before it was created`);
    assert.deepEqual(known?.values ?? values, values, `${name} changed its values`);
    trials.set(jobId, trial);
    if (outcome !== null) {
      const jobClosedAt = closedAt.get(jobId);
      assert(jobClosedAt !== undefined, `${name} was counted before its job was closed`);
      reportDelays.push(now() - jobClosedAt);
    }
  }

  function assertParallelLimit({ tuningId, study, running, ...tuning }: Tuning): void {
    const asked = tuning.status === 'SEARCHING' ? (tuning.asked?.count ?? 0) : 0;
    const { parallelTrialsMax } = study;
    assert(running.length + asked <= parallelTrialsMax, `${tuningId}: ${running.length} run, ${asked} are asked for`);
    parallelMax.set(tuningId, parallelTrialsMax);
  }

  return {
    reportDelays,
    programOf: (jobId: string) => programs.get(jobId),
    onJobCreated(job: Job): void {
      const tuningId = job.trial?.tuningId;
      if (tuningId === undefined) {
        return;
      }
      const trial = trials.get(job.jobId);
      assert(trial !== undefined, `${job.jobId} was created before its values were committed`);
      const args = Object.entries(trial.values).map(([name, value]) => `--${name}=${value}`);
      assert.deepEqual(job.spec.program.args, args, `${job.jobId} has other values than its trial`);
      programs.set(job.jobId, programOf(job.spec));
      const open = new Set([...(openJobs.get(tuningId) ?? []), job.jobId]);
      openJobs.set(tuningId, open);
      assert(open.size <= (parallelMax.get(tuningId) ?? 0), `${[...open]} run in parallel`);
    },
    onJobCommitted(job: Job): void {
      if (job.trial !== null && job.status === 'CLOSED') {
        const open = [...(openJobs.get(job.trial.tuningId) ?? [])];
        openJobs.set(job.trial.tuningId, new Set(open.filter((jobId) => jobId !== job.jobId)));
        closedAt.set(job.jobId, closedAt.get(job.jobId) ?? now());
      }
    },
    /** A store whose commits are checked. */
    check(tunings: TuningStore): TuningStore {
      return {
        ...tunings,
        async create(tuning, effects) {
          assertParallelLimit(tuning);
          return tunings.create(tuning, effects);
        },
        async commit(change) {
          const outcome = await tunings.commit(change);
          if (outcome === 'COMMITTED') {
            assertParallelLimit(change.record);
            change.trials.forEach(recordTrial);
          }
          return outcome;
        },
      };
    },
  };
}
