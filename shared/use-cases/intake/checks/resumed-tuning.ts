import { type Metric, objectiveMetricsOf, type Study } from '#shared/domain/study.ts';
import { locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { listAllTrials } from '#shared/ports/read-trials.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { pointOf, readSearchSpace } from '#shared/tuning/optimizer/search-space.ts';
import { RESUMES_MAX, type Tuning } from '#shared/tuning/tuning.ts';
import type { Check, CheckPorts } from '#shared/use-cases/intake/checks/check.ts';

/** Each suggestion reads the earlier trials; a model is built of at most 300. */
const EARLIER_TRIALS_MAX = 10_000;

/**
 * Whether the tuning that a study resumes exists, has ended, and optimizes the same metrics. Its trials, and those that
 * it has resumed itself, are then known to the optimizer. A study without parameters gets those of the resumed tuning.
 */
export const checkResumedTuning: Check = async ({ draft, spec }, ports) => {
  const { study } = spec;
  if (study === null || study.resumeJobId === null) {
    return {};
  }
  const { resumeJobId } = study;
  const location = locationOf(draft.study?.resumeJobId ?? { path: 'resumeJobId' });
  const earlier = (await ports.tunings.read(resumeJobId))?.record;
  if (earlier === undefined) {
    return { problems: [{ ...(await describeMissing(ports, resumeJobId)), ...location }] };
  }
  const difference = findDifference(study, earlier);
  if (difference !== null) {
    return { problems: [{ ...difference, ...location }] };
  }
  const parameters = study.parameters.length === 0 ? earlier.study.parameters : study.parameters;
  const resumed = { ...study, parameters };
  const chain = [resumeJobId, ...earlier.resumes];
  const { resumes, warnings } = await readEarlierTrials(ports, { resumed, chain, location });
  return { warnings, pins: { spec: { ...spec, study: resumed }, resumes } };
};

async function describeMissing({ jobs }: CheckPorts, id: string): Promise<Problem> {
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
  const [own, other] = [describe(objectiveMetricsOf(study)), describe(objectiveMetricsOf(earlier))];
  if (own !== other) {
    const message = `Tuning job ${tuningId}, which the study resumes, has another metric: it wants to ${other}, and this study to ${own}.`;
    const remedy =
      'Write the same metrics and goals in the same order, or remove the field to start without earlier trials.';
    return { code: 'RESUMED_METRIC_DIFFERS', message, remedy };
  }
  if (resumes.length >= RESUMES_MAX) {
    const message = `Tuning job ${tuningId}, which the study resumes, has resumed ${resumes.length} others; the maximum is ${RESUMES_MAX} in all.`;
    const remedy = `Resume an earlier one, such as ${resumes[0]}, or remove the field.`;
    return { code: 'TOO_MANY_RESUMES', message, remedy };
  }
  return null;
}

function describe(metrics: readonly Metric[]): string {
  return metrics.map(({ id, goal }) => `${goal.toLowerCase()} ${JSON.stringify(id)}`).join(' and ');
}

type Resumed = { readonly resumed: Study; readonly chain: readonly string[]; readonly location: SourceLocation };

/**
 * The tunings of the chain whose trials the optimizer gets, the nearest first, until there are EARLIER_TRIALS_MAX.
 * Trials whose values this study's parameters do not have tell it nothing.
 */
async function readEarlierTrials(
  { tunings }: CheckPorts,
  { resumed, chain, location }: Resumed,
): Promise<{ readonly resumes: readonly string[]; readonly warnings: readonly Problem[] }> {
  const space = readSearchSpace(resumed.parameters);
  const resumes: string[] = [];
  const warnings: Problem[] = [];
  let [count, ignored] = [0, 0];
  for (const id of chain) {
    if (count >= EARLIER_TRIALS_MAX) {
      const message = `The trials of tuning job ${id} and of those that it resumes are ignored: those of ${resumes.join(', ')} are ${count} already.`;
      const remedy = 'Nothing is to be done: more trials would hardly improve the suggestions.';
      warnings.push({ code: 'RESUMED_TRIALS_IGNORED', message, remedy, ...location });
      break;
    }
    resumes.push(id);
    for (const { values } of await listAllTrials(tunings, id)) {
      count += 1;
      ignored += pointOf(space, values) === undefined ? 1 : 0;
    }
  }
  if (ignored > 0) {
    const message = `${ignored} of ${count} earlier trials are ignored: their values are not among those of this study's parameters.`;
    const remedy =
      'Write the parameters and ranges of the earlier tuning job, or none to take them over, and the default of a parameter that it did not have.';
    warnings.push({ code: 'RESUMED_TRIALS_IGNORED', message, remedy, ...location });
  }
  return { resumes, warnings };
}
