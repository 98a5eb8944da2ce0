import { isMultiObjective, type Metric, type Study } from '#shared/domain/study.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';

type Choices = Pick<Study, 'algorithm' | 'earlyStopping' | 'measurement' | 'parallelTrialsMax' | 'trialsMax'> & {
  readonly metrics: Study['metrics'];
};

/**
 * The choices that take effect together: those that have none with this study's objectives or algorithm are replaced,
 * with a warning.
 */
export function warnOfNoEffect(
  study: StudyDraft,
  choices: Choices,
  findings: Findings,
): Pick<Study, 'earlyStopping' | 'measurement'> {
  if (choices.algorithm === 'POPULATION_BASED') {
    checkPopulation(study, choices, findings);
  }
  return {
    earlyStopping: checkStopping(study, choices, findings),
    measurement: checkMeasurement(study, choices, findings),
  };
}

function checkPopulation(study: StudyDraft, { parallelTrialsMax, trialsMax }: Choices, findings: Findings): void {
  const { algorithm, parallelTrials, resumeJobId } = study;
  if (algorithm === undefined) {
    return;
  }
  if (parallelTrialsMax < 2) {
    const found = parallelTrials ?? algorithm;
    const message = `${found.path} makes a population of one member, which has no other one to go on from.`;
    const remedy = 'Run several trials in parallel, such as 8: each of them is a member.';
    findings.warnings.push({ code: 'POPULATION_OF_ONE', message, remedy, ...locationOf(found) });
  } else if (trialsMax <= parallelTrialsMax) {
    const message = `The study has ${trialsMax} trials for a population of ${parallelTrialsMax}: none goes on from another.`;
    const remedy = `Write more trials: ${parallelTrialsMax} for each generation.`;
    findings.warnings.push({ code: 'POPULATION_WITHOUT_GENERATIONS', message, remedy, ...locationOf(algorithm) });
  }
  if (resumeJobId !== undefined && resumeJobId.value !== '') {
    const reason = 'a population starts with values drawn at random, not with the trials of another tuning';
    warn(resumeJobId, { reason, remedy: 'Remove it, or choose another algorithm.' }, findings);
  }
}

/** Each rule compares values of one metric at equal steps, and a later generation begins at the last step of another. */
function checkStopping({ earlyStopping }: StudyDraft, choices: Choices, findings: Findings): Study['earlyStopping'] {
  const hasPopulation = choices.algorithm === 'POPULATION_BASED';
  const hasEffect = !hasPopulation && !isMultiObjective(choices);
  if (choices.earlyStopping === null || earlyStopping === undefined || hasEffect) {
    return choices.earlyStopping;
  }
  const reason = hasPopulation
    ? 'a population replaces its worst members after each generation'
    : `the study optimizes ${describe(choices.metrics)}, and a trial that is behind in one may be ahead in another`;
  warn(earlyStopping.rule, { reason, remedy: 'Remove it: all trials run to their end.' }, findings);
  return null;
}

function checkMeasurement({ measurement }: StudyDraft, choices: Choices, findings: Findings): Study['measurement'] {
  const hasPopulation = choices.algorithm === 'POPULATION_BASED';
  const hasEffect = !hasPopulation && !isMultiObjective(choices);
  if (choices.measurement !== 'BEST' || measurement === undefined || hasEffect) {
    return choices.measurement;
  }
  const reason = hasPopulation
    ? 'a trial goes on from the last outputs of another one, so that their measurement counts'
    : `the study optimizes ${describe(choices.metrics)}, so that no measurement of a trial is the best one`;
  warn(measurement, { reason, remedy: 'Remove it: the last value of each metric counts.' }, findings);
  return 'LAST';
}

function describe(metrics: readonly Metric[]): string {
  return `${metrics.filter(({ safety }) => safety === null).length} metrics`;
}

function warn(
  found: Located<unknown>,
  { reason, remedy }: { readonly reason: string; readonly remedy: string },
  findings: Findings,
): void {
  const message = `${found.path} has no effect: ${reason}.`;
  findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(found) });
}
