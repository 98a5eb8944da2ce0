import { type Metric, objectiveMetricOf, type Study } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { pointOf, readSearchSpace } from '#shared/tuning/optimizer/search-space.ts';
import { RESUMES_MAX, type Tuning } from '#shared/tuning/tuning.ts';
import { listAllTrials } from '#shared/use-cases/read-trials.ts';

type Ports = { readonly jobs: JobStore; readonly tunings: TuningStore };

/** A study that was checked against the tuning that it resumes. */
export type ResumedStudy = {
  /** With the parameters of the resumed tuning if it has none of its own. */
  readonly study: Study;
  /** Ids of the earlier tunings, the nearest first. */
  readonly resumes: readonly string[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

/**
 * Checks that the tuning that a study resumes exists, has ended, and optimizes the same metric. Its trials, and those
 * that it has resumed itself, are then known to the optimizer.
 */
export async function checkResumedTuning(
  ports: Ports,
  study: Study,
  draft: StudyDraft | undefined,
): Promise<ResumedStudy> {
  const { resumeJobId } = study;
  if (resumeJobId === null) {
    return { study, resumes: [], problems: [], warnings: [] };
  }
  const location = draft?.resumeJobId === undefined ? { path: 'resumeJobId' } : locationOf(draft.resumeJobId);
  const earlier = (await ports.tunings.read(resumeJobId))?.tuning;
  const problem = earlier === undefined ? await describeMissing(ports, resumeJobId) : findDifference(study, earlier);
  if (problem !== null || earlier === undefined) {
    return { study, resumes: [], problems: problem === null ? [] : [{ ...problem, ...location }], warnings: [] };
  }
  const parameters = study.parameters.length === 0 ? earlier.study.parameters : study.parameters;
  const resumes = [resumeJobId, ...earlier.resumes];
  const resumed = { ...study, parameters };
  return {
    study: resumed,
    resumes,
    problems: [],
    warnings: await findIgnoredTrials(ports, { resumed, resumes, location }),
  };
}

async function describeMissing({ jobs }: Ports, id: string): Promise<Problem> {
  const isJob = (await jobs.read(id)) !== undefined;
  const message = isJob
    ? `Job ${id}, which the study resumes, tunes no hyperparameters.`
    : `Tuning job ${id}, which the study resumes, does not exist in this deployment.`;
  const remedy = 'Write the id of an earlier tuning job of this deployment, or remove the field.';
  return { code: 'RESUMED_TUNING_MISSING', message, remedy };
}

function findDifference(study: Study, { tuningId, status, study: earlier, resumes }: Tuning): Problem | null {
  if (status !== 'CLOSED') {
    const message = `Tuning job ${tuningId}, which the study resumes, has not ended.`;
    const remedy = `Submit this job when it has ended, or cancel it first: dropforge jobs cancel ${tuningId}.`;
    return { code: 'RESUMED_TUNING_RUNS', message, remedy };
  }
  const [own, other] = [objectiveMetricOf(study), objectiveMetricOf(earlier)];
  if (own.id !== other.id || own.goal !== other.goal) {
    const message = `Tuning job ${tuningId}, which the study resumes, has another metric: it wants to ${describe(other)}, and this study to ${describe(own)}.`;
    const remedy = 'Write the same metric and goal, or remove the field to start without earlier trials.';
    return { code: 'RESUMED_METRIC_DIFFERS', message, remedy };
  }
  if (resumes.length >= RESUMES_MAX) {
    const message = `Tuning job ${tuningId}, which the study resumes, has resumed ${resumes.length} others; the maximum is ${RESUMES_MAX} in all.`;
    const remedy = `Resume an earlier one, such as ${resumes[0]}, or remove the field.`;
    return { code: 'TOO_MANY_RESUMES', message, remedy };
  }
  return null;
}

function describe({ id, goal }: Metric): string {
  return `${goal.toLowerCase()} ${JSON.stringify(id)}`;
}

type Resumed = { readonly resumed: Study; readonly resumes: readonly string[]; readonly location: SourceLocation };

/** Trials whose values this study's parameters do not have tell the optimizer nothing. */
async function findIgnoredTrials(
  { tunings }: Ports,
  { resumed, resumes, location }: Resumed,
): Promise<readonly Problem[]> {
  const space = readSearchSpace(resumed.parameters);
  let [count, ignored] = [0, 0];
  for (const id of resumes) {
    for (const { values } of await listAllTrials(tunings, id)) {
      count += 1;
      ignored += pointOf(space, values) === undefined ? 1 : 0;
    }
  }
  if (ignored === 0) {
    return [];
  }
  const message = `${ignored} of ${count} earlier trials are ignored: their values are not among those of this study's parameters.`;
  const remedy = 'Write the parameters and ranges of the earlier tuning job, or none to take them over.';
  return [{ code: 'RESUMED_TRIALS_IGNORED', message, remedy, ...location }];
}
